// The difference of two square roots, printed in every way that Rust has. Each line that ends in a comment prints one inaccurate
// number, by the function named there.

use std::fmt;

struct Point {
    x: f64,
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        return write!(f, "({:.6})", self.x); // fmt
    }
}

#[inline(never)]
fn wrong() -> f64 {
    let x: f64 = std::hint::black_box(1e12);
    (x + 1.0).sqrt() - x.sqrt()
}

fn main() {
    println!("{}", wrong()); // fmt
    println!("{:.3}", wrong()); // fmt
    println!("{:e}", wrong()); // fmt
    println!("{:?}", wrong()); // fmt
    println!("{}", wrong() as f32); // fmt single
    let text = wrong().to_string(); // fmt
    println!("{text}");
    println!("{:?}", vec![1.0, wrong()]); // fmt
    println!("{}", Point { x: wrong() });
}
