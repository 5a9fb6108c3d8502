//! Classes of bytes on the paths of a DFA to an accepting state: on some path, or on every one.

use std::collections::VecDeque;

use smallvec::SmallVec;

use crate::regular::ByteSet;

/// Successors by state and class; numbers beyond all states mean none.
pub(crate) struct Transitions<'a> {
    pub(crate) next: &'a [u32],
    pub(crate) width: usize,
}

impl Transitions<'_> {
    fn states(&self) -> usize {
        self.next.len() / self.width
    }

    /// Predecessors by state, each with the class.
    fn before(&self) -> Vec<SmallVec<[(u32, u8); 4]>> {
        let mut before = vec![SmallVec::new(); self.states()];
        for (state, row) in self.next.chunks_exact(self.width).enumerate() {
            for (class, &to) in row.iter().enumerate() {
                let list: Option<&mut SmallVec<_>> = before.get_mut(to as usize);
                list.into_iter().for_each(|list| list.push((state as u32, class as u8)));
            }
        }
        before
    }

    /// By state: the classes on some path to acceptance. Acceptance can be reached from all states.
    pub(crate) fn any(&self) -> Box<[ByteSet]> {
        let before = self.before();
        let mut classes = vec![ByteSet::EMPTY; self.states()];
        let mut open: VecDeque<usize> = (0..self.states()).collect();
        while let Some(state) = open.pop_front() {
            for &(from, class) in &before[state] {
                let more = classes[from as usize].union(&classes[state]);
                let more = more.union(&ByteSet::single(class));
                if more != classes[from as usize] {
                    classes[from as usize] = more;
                    open.push_back(from as usize);
                }
            }
        }
        classes.into()
    }

    /// By state: the classes on every path to acceptance. A class is on every path if acceptance
    /// cannot be reached without it.
    pub(crate) fn every(&self, accepts: &[bool]) -> Box<[ByteSet]> {
        let before = self.before();
        let mut needed = vec![ByteSet::EMPTY; self.states()];
        for without in 0..self.width as u8 {
            let mut ends = accepts.to_vec();
            let mut open: Vec<usize> = (0..ends.len()).filter(|&state| ends[state]).collect();
            while let Some(state) = open.pop() {
                for &(from, class) in &before[state] {
                    if class != without && !std::mem::replace(&mut ends[from as usize], true) {
                        open.push(from as usize);
                    }
                }
            }
            let needing = needed.iter_mut().zip(&ends).filter(|&(_, &ends)| !ends);
            needing.for_each(|(needed, _)| needed.insert(without));
        }
        needed.into()
    }
}
