! Fortran: arrays, complex numbers, formatted and unformatted files, a module procedure, quadruple precision.
module solver
  implicit none
contains
  recursive function fib(n) result(f)
    integer, intent(in) :: n
    integer :: f
    if (n < 2) then
      f = n
    else
      f = fib(n - 1) + fib(n - 2)
    end if
  end function
end module

program numbers
  use solver
  implicit none
  real(8) :: a(20, 20), b(20), x(20)
  real(16) :: quad
  complex(8) :: z
  integer :: i, j, k
  do i = 1, 20
    do j = 1, 20
      a(i, j) = 1d0 / (i + j - 1) + merge(1d0, 0d0, i == j)
    end do
    b(i) = i
  end do
  do k = 1, 20
    do i = k + 1, 20
      a(i, k:) = a(i, k:) - a(k, k:) * (a(i, k) / a(k, k))
      b(i) = b(i) - b(k) * 0.5d0
    end do
  end do
  x = matmul(a, b)
  z = exp((0d0, 1d0) * x(1))
  quad = sqrt(2.0_16)
  print '(5es24.16)', x(1:5)
  print '(2f20.16, f40.34)', z, quad
  print *, fib(15), sum(x), maxval(a), dot_product(x, b)
  open (10, status='scratch', form='unformatted')
  write (10) x
  rewind (10)
  read (10) b
  print *, all(x == b)
  if (any(x /= b)) stop 1
end program
