//! The way of the log from the guests to its consumer.

use crate::Gauge;
use crate::ring::Chunk;
use fpgrind_analysis::log::Event;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// What the consumer of the log is sent.
pub enum Message {
    Event(Event<'static>),
    Records { thread: u32, bytes: Vec<u8> },
    Chunk { thread: u32, chunk: Chunk },
    End,
}

/// Buffers of log that may wait for the consumer before a guest has to. (Chunks are bounded by themselves: a ring has a few.)
const BUFFERS_IN_FLIGHT: usize = 16;

/// Sends events in the order in which they must be known, from any thread of the supervisor. Only records make the sender wait: what
/// is announced is told under the translator's lock.
#[derive(Clone)]
pub struct Publisher {
    sender: Sender<Message>,
    credits: Arc<Credits>,
    next_block: Arc<AtomicU32>,
    /// Nobody wants to see records.
    discard: bool,
    gauge: Option<&'static Gauge>,
}

#[derive(Default)]
struct Credits {
    state: Mutex<Flow>,
    changed: Condvar,
}

#[derive(Default)]
struct Flow {
    in_flight: usize,
    /// Buffers that were consumed. They are used again, because the kernel takes longer to make pages than the guest to
    /// fill them.
    spare: Vec<Vec<u8>>,
    /// Nobody consumes any more.
    closed: bool,
}

impl Credits {
    fn change(&self, change: impl FnOnce(&mut Flow)) {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
    }
}

/// A consumer's end.
pub struct Subscription {
    receiver: Receiver<Message>,
    credits: Arc<Credits>,
}

pub fn channel_of_log(discard: bool, gauge: Option<&'static Gauge>) -> (Publisher, Subscription) {
    let (sender, receiver) = channel();
    let credits = Arc::new(Credits::default());
    let next_block = Arc::new(AtomicU32::new(1));
    (Publisher { sender, credits: credits.clone(), next_block, discard, gauge }, Subscription { receiver, credits })
}

impl Publisher {
    pub fn send(&self, event: Event<'static>) {
        // A consumer that has gone away wants no more; the guest runs on.
        let _ = self.sender.send(Message::Event(event));
    }

    /// An empty buffer for records.
    pub fn buffer(&self) -> Vec<u8> {
        let mut flow = self.credits.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut buffer = flow.spare.pop().unwrap_or_default();
        buffer.clear();
        buffer
    }

    /// Waits while too many buffers are on their way.
    pub fn send_records(&self, thread: u32, bytes: Vec<u8>) {
        if self.discard {
            return self.credits.change(|flow| flow.spare.push(bytes));
        }
        let lock = self.credits.state.lock().unwrap_or_else(PoisonError::into_inner);
        let full = |flow: &mut Flow| flow.in_flight >= BUFFERS_IN_FLIGHT && !flow.closed;
        let mut flow = self.credits.changed.wait_while(lock, full).unwrap_or_else(PoisonError::into_inner);
        flow.in_flight += 1;
        drop(flow);
        self.count(bytes.len());
        let _ = self.sender.send(Message::Records { thread, bytes });
    }

    pub fn send_chunk(&self, thread: u32, chunk: Chunk) {
        if !self.discard {
            self.count(chunk.len);
            let _ = self.sender.send(Message::Chunk { thread, chunk });
        }
    }

    fn count(&self, bytes: usize) {
        if let Some(gauge) = self.gauge {
            gauge.logged.fetch_add(bytes as u64, Ordering::Relaxed);
        }
    }

    /// Ends the log when it is dropped, whoever may still be able to write: what a thread of ours that panicked had is not given back.
    pub fn ending(&self) -> Ending {
        Ending(self.sender.clone())
    }

    /// A number for a block, unlike any other.
    pub fn next_block(&self) -> u32 {
        self.next_block.fetch_add(1, Ordering::Relaxed)
    }
}

pub struct Ending(Sender<Message>);

impl Drop for Ending {
    fn drop(&mut self) {
        let _ = self.0.send(Message::End);
    }
}

impl Subscription {
    /// Hands over everything until the log ends.
    pub fn consume(self, mut consumer: impl FnMut(Event<'_>)) {
        let mut copy = Vec::new();
        for message in &self.receiver {
            match message {
                Message::End => return,
                Message::Event(event) => consumer(event),
                Message::Chunk { thread, chunk } => {
                    // The guest could write to it where it lies, and can fill it again as soon as it is copied.
                    copy.clear();
                    chunk.read_into(&mut copy);
                    drop(chunk);
                    consumer(Event::Records { thread, bytes: &copy });
                }
                Message::Records { thread, bytes } => {
                    consumer(Event::Records { thread, bytes: &bytes });
                    self.credits.change(|flow| {
                        flow.in_flight -= 1;
                        flow.spare.push(bytes);
                    });
                }
            }
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.credits.change(|flow| flow.closed = true);
    }
}
