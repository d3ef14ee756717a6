! Powers and functions that gfortran calls its libraries for.
program powers
  implicit none
  real(8) :: x
  complex(8) :: z
  integer :: n
  integer(8) :: m
  character(len=10) :: argument
  call get_command_argument(1, argument)
  read (argument, *) n
  m = n
  x = 1.0d0 + 1.0d-9 * n
  z = cmplx(x, 0.5d0 * n, 8)
  print *, x**n - 1.0d0
  print *, x**m - 1.0d0
  z = z**n
  print *, (real(z) + 1.0d17) - 1.0d17
  print *, (bessel_jn(2, x) + 1.0d16) - 1.0d16
  print *, nint(x * 2.5d0), anint(x * 2.5d0)
end program
