! matmul, dot_product and their like in every kind of real, and complex. real(16) is computed in integers, by libquadmath.
program kinds
  implicit none
  integer, parameter :: n = 13
  real(8) :: numbers(n, n), others(n, n)
  integer :: i, j
  real(4) :: a4(n, n), b4(n, n)
  real(8) :: a8(n, n), b8(n, n)
  real(10) :: a10(n, n), b10(n, n)
  real(16) :: a16(n, n), b16(n, n)
  complex(4) :: c4(n, n)
  complex(8) :: c8(n, n)
  complex(10) :: c10(n, n)
  do j = 1, n
    do i = 1, n
      numbers(i, j) = mod(i * 7919 + j * 104729, 1009) / 1009d0 - 0.5d0
      others(i, j) = mod(i * 6101 + j * 15485863, 997) / 997d0 - 0.5d0
    end do
  end do
  a4 = real(numbers, 4); b4 = real(others, 4)
  a8 = numbers; b8 = others
  a10 = numbers; b10 = others
  a16 = numbers; b16 = others
  c4 = cmplx(numbers, others, 4)
  c8 = cmplx(numbers, others, 8)
  c10 = cmplx(numbers, others, 10)
  print *, matmul(a4, b4), dot_product(a4(:, 1), b4(:, 2)), norm2(a4), sum(a4 * b4), product(1 + a4(:, 3))
  print *, matmul(a8, transpose(b8)), dot_product(a8(:, 1), b8(:, 2)), norm2(a8), sum(a8 * b8, a8 > 0), maxval(a8)
  print *, matmul(a10, b10), dot_product(a10(:, 1), b10(:, 2)), norm2(a10), sum(sin(a10) * exp(b10)), minval(a10)
  print *, matmul(a16, b16), dot_product(a16(:, 1), b16(:, 2)), norm2(a16), sum(sin(a16) * exp(b16))
  print *, matmul(c4, c4), dot_product(c4(:, 1), c4(:, 2)), sum(sqrt(c4))
  print *, matmul(c8, conjg(c8)), dot_product(c8(:, 1), c8(:, 2)), sum(exp(c8) / (c8 + 2))
  print *, matmul(c10, c10), dot_product(c10(:, 1), c10(:, 2)), sum(log(c10 + 1))
  print *, erf(a8(1:3, 1)), gamma(a8(1:3, 2) + 2), bessel_j0(a8(1:3, 3)), hypot(a8(1:3, 1), b8(1:3, 1)), modulo(a8(1:3, 1), 0.3d0)
  print *, nint(a8(1:5, 1) * 1000), floor(a4(1:5, 1) * 100), ceiling(a10(1:5, 1) * 100), exponent(a8(1:5, 1)), fraction(a10(1:5, 1))
end program
