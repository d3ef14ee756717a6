! The difference of two square roots in quadruple precision. Each line that ends in a comment writes inaccurate numbers, by the function
! named there.
module numbers
  implicit none
  real(8), volatile :: x = 1d12
contains
  function wrong() result(difference)
    real(16) :: difference
    difference = sqrt(x + 1) - sqrt(x)
  end function
end module

program outputs
  use numbers
  implicit none
  real(16) :: a(3), right
  complex(16) :: z
  a = 1
  a(2) = wrong()
  print *, wrong() ! write
  write (*, '(f40.30)') wrong() ! write
  z = cmplx(1, wrong(), 16)
  print *, z ! write
  print *, a ! write
  print *, real(wrong(), 8) ! write
  print *, abs(-a(2)) ! write
  right = 1 / (sqrt(real(x, 16) + 1) + sqrt(real(x, 16)))
  print *, right, sum(a(1:1)), real(right, 8)
end program
