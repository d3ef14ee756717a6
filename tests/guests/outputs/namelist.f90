! The difference of two square roots, written as a namelist: each number is one that libgfortran prints
! by a call of snprintf.
program namelists
  implicit none
  real(8), volatile :: x = 1d12
  real(8) :: item, items(3)
  namelist /group/ item, items
  item = 1
  items = 1
  items(2) = sqrt(x + 1) - sqrt(x)
  write (*, nml=group) ! snprintf %.*e
end program
