! The difference of two square roots, written in every way that Fortran has. Each line that ends in a comment writes inaccurate
! numbers, by the function named there.
module numbers
  implicit none
  real(8), volatile :: x = 1d12
contains
  function wrong() result(difference)
    real(8) :: difference
    difference = sqrt(x + 1) - sqrt(x)
  end function
end module

program outputs
  use numbers
  implicit none
  real(8) :: a(4, 3)
  real(4) :: single
  real(10) :: long
  complex(8) :: z
  integer :: unit
  character(40) :: text
  a = 1
  a(3, 2) = wrong()
  print *, wrong() ! write
  write (*, '(f20.12, e20.10)') wrong(), 1d0 ! write
  single = real(wrong(), 4)
  print *, single ! write single
  long = wrong()
  print *, long ! write
  z = cmplx(1d0, wrong(), 8)
  print *, z ! write
  print *, a ! write
  print '(4g12.4)', a(1::2, 2:3) ! write
  print *, a(2::2, :)
  write (text, *) wrong() ! write
  print *, trim(text)
  open (newunit=unit, status='scratch', form='unformatted')
  write (unit) wrong() ! write
  write (unit) a ! write
  close (unit)
  print *, 1, .true., 'text'
end program
