! The variance of measurements that differ little, from their distances to the mean.
program variance
  implicit none
  integer, parameter :: n = 1000
  real(8) :: x(n), mean
  integer :: i
  do i = 1, n
    x(i) = 1.0d6 + mod(i, 7) * 0.01d0
  end do
  mean = sum(x) / n
  print '(a, es22.15)', ' variance ', sum((x - mean)**2) / n
end program
