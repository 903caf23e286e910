//! The answers of a thread that evaluates: taken in order, and looked for without waiting.

use super::{Estimates, HeuristicError};
use std::sync::mpsc::{Receiver, TryRecvError};

/// What a thread answers.
pub(crate) type Told = Result<Estimates, HeuristicError>;

/// The answers of a thread, the oldest first.
pub(crate) struct Answers {
    inbox: Receiver<Told>,
    /// One that has come and was not taken.
    next: Option<Told>,
}

impl Answers {
    pub(crate) fn new(inbox: Receiver<Told>) -> Self {
        Answers { inbox, next: None }
    }

    /// Whether the oldest need not be waited for; also where the thread has ended, and there will be none.
    pub(crate) fn is_ready(&mut self) -> bool {
        if self.next.is_none() {
            match self.inbox.try_recv() {
                Ok(answer) => self.next = Some(answer),
                Err(TryRecvError::Empty) => return false,
                Err(TryRecvError::Disconnected) => (),
            }
        }
        true
    }

    /// Waits for the oldest; `None` if the thread has ended.
    pub(crate) fn take(&mut self) -> Option<Told> {
        self.next.take().or_else(|| self.inbox.recv().ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn answers_are_taken_in_order_whether_looked_for_or_not() {
        let (outbox, inbox) = channel();
        let mut answers = Answers::new(inbox);
        assert!(!answers.is_ready());
        for value in [1.0, 2.0, 3.0] {
            outbox.send(Ok(Estimates { values: vec![value], policy: None })).expect("there is an inbox");
        }
        assert!(answers.is_ready() && answers.is_ready());
        let mut taken = || answers.take().map(|told| told.expect("no error was told").values);
        assert_eq!([taken(), taken(), taken()], [Some(vec![1.0]), Some(vec![2.0]), Some(vec![3.0])]);
        drop(outbox);
        assert!(answers.is_ready(), "nobody waits for a thread that has ended");
        assert!(answers.take().is_none());
    }
}
