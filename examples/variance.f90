! The variance of measurements that differ little, by the formula of the textbook.
program variance
  implicit none
  integer, parameter :: n = 1000
  real(8) :: x(n), mean, squares
  integer :: i
  do i = 1, n
    x(i) = 1.0d6 + mod(i, 7) * 0.125d0
  end do
  mean = sum(x) / n
  squares = sum(x * x) / n
  print '(a, es22.15)', ' variance ', squares - mean * mean
end program
