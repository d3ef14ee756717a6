// Rust: collections, threads, channels, panics that are caught, formatted floats.
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, mpsc};

fn main() {
    let mut words = BTreeMap::new();
    for i in 0..500u64 {
        *words.entry(i * i % 37).or_insert(0.0) += (i as f64).sqrt();
    }
    let total: f64 = words.values().sum();
    println!("{} words, {total:?}", words.len());
    let shared = Arc::new(Mutex::new(0.0f64));
    let (send, receive) = mpsc::channel();
    let threads: Vec<_> = (0..4)
        .map(|n| {
            let (shared, send) = (shared.clone(), send.clone());
            std::thread::spawn(move || {
                for i in 0..200 {
                    *shared.lock().unwrap() += 0.25 * f64::from(i % 3);
                }
                send.send(f64::from(n).exp()).unwrap();
            })
        })
        .collect();
    drop(send);
    let mut sent: Vec<f64> = receive.iter().collect();
    sent.sort_by(f64::total_cmp);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    println!("{} {sent:?}", shared.lock().unwrap());
    std::panic::set_hook(Box::new(|info| println!("panic: {}", info.payload().downcast_ref::<&str>().unwrap())));
    let caught = (0..50).filter(|_| std::panic::catch_unwind(|| panic!("on purpose")).is_err()).count();
    println!("caught {caught}");
    std::process::exit(if caught == 50 { 0 } else { 1 });
}
