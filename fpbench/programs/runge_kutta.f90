! The Lorenz system by SIZE steps of the classical Runge-Kutta method, so many times; Fortran, as its readers write it.
program runge_kutta
  implicit none
  integer, parameter :: real64 = kind(1.0d0)
  character(len=32) :: argument
  integer :: size, repeats, i
  real(real64) :: y(3)

  size = 100
  repeats = 1
  if (command_argument_count() > 0) then
    call get_command_argument(1, argument)
    read (argument, *) size
  end if
  if (command_argument_count() > 1) then
    call get_command_argument(2, argument)
    read (argument, *) repeats
  end if
  y = [1.0_real64, 1.0_real64, 1.0_real64]
  do i = 1, size * repeats
    call step(y, 0.001_real64)
  end do
  print '(3es24.16)', y

contains

  function slope(y) result(d)
    real(real64), intent(in) :: y(3)
    real(real64) :: d(3)
    d(1) = 10 * (y(2) - y(1))
    d(2) = y(1) * (28 - y(3)) - y(2)
    d(3) = y(1) * y(2) - 8 * y(3) / 3
  end function

  subroutine step(y, h)
    real(real64), intent(inout) :: y(3)
    real(real64), intent(in) :: h
    real(real64) :: k1(3), k2(3), k3(3), k4(3)
    k1 = slope(y)
    k2 = slope(y + h / 2 * k1)
    k3 = slope(y + h / 2 * k2)
    k4 = slope(y + h * k3)
    y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
  end subroutine

end program
