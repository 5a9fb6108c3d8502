//! The labels of a decision as a prefix tree of bytes, walked together with the vocabulary's.
//!
//! ```text
//! labels yes, no        tokens y, ye, es, yes, n, no, not
//!
//! root ─y─ 1 ─e─ 2 ─s─ 3 yes        from the root:  y → 1, ye → 2, yes → 3, n → 4, no → 5
//!   └──n─ 4 ─o─ 5 no                (`not` leaves the tree after it has passed `no`)
//! ```

use super::decision::{LabelEnd, Labels};
use crate::vocabulary::Trie;

/// Index of a node of a [`LabelTrie`]; the root is 0.
pub(crate) type LabelNode = usize;

/// The labels that texts from a node on may still become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reachable {
    /// None.
    Nothing,
    /// This label alone.
    One(usize),
    /// Two or more.
    Several,
}

impl Reachable {
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Nothing, it) | (it, Self::Nothing) => it,
            (Self::One(a), Self::One(b)) if a == b => self,
            _ => Self::Several,
        }
    }
}

/// The labels as a prefix tree.
#[derive(Clone, Debug)]
pub(crate) struct LabelTrie {
    nodes: Vec<Node>,
    end: LabelEnd,
}

#[derive(Clone, Debug)]
struct Node {
    children: Vec<(u8, LabelNode)>,
    /// The label whose text this is.
    label: Option<usize>,
    /// The longest label that a text has passed here, this one included.
    passed: Option<usize>,
    reachable: Reachable,
    parent: Option<LabelNode>,
}

/// The tokens that may follow a node.
#[derive(Debug, Default)]
pub(crate) struct NextTokens {
    /// Tokens that stay in the tree, with the node that they lead to; ascending by token.
    pub(crate) stay: Vec<(u32, LabelNode)>,
    /// Tokens that leave the tree after they have passed a label that the node has not, with it. Empty
    /// where an end token must follow the label.
    pub(crate) pass: Vec<(u32, usize)>,
}

impl LabelTrie {
    /// The tree of labels that are [valid](Labels::validate).
    pub(crate) fn new(labels: &Labels) -> Self {
        let mut this = Self { nodes: vec![Node::new(None)], end: labels.end };
        for (index, label) in labels.labels.iter().enumerate() {
            for spelling in &label.spellings {
                let node = spelling.bytes().fold(0, |node, byte| this.child_or_new(node, byte));
                this.nodes[node].label = Some(index);
            }
        }
        // A child has a greater index than its parent.
        for node in 0..this.nodes.len() {
            let parent = this.nodes[node].parent.map(|parent| this.nodes[parent].passed);
            this.nodes[node].passed = this.nodes[node].label.or(parent.flatten());
        }
        for node in (0..this.nodes.len()).rev() {
            let own = match labels.end {
                LabelEnd::EndToken => this.nodes[node].label,
                LabelEnd::Anything => this.nodes[node].passed,
            };
            let below = this.nodes[node].reachable;
            this.nodes[node].reachable = below.and(own.map_or(Reachable::Nothing, Reachable::One));
            if let Some(parent) = this.nodes[node].parent {
                let reachable = this.nodes[node].reachable;
                this.nodes[parent].reachable = this.nodes[parent].reachable.and(reachable);
            }
        }
        this
    }

    fn child_or_new(&mut self, node: LabelNode, byte: u8) -> LabelNode {
        if let Some(child) = self.child(node, byte) {
            return child;
        }
        self.nodes.push(Node::new(Some(node)));
        let child = self.nodes.len() - 1;
        self.nodes[node].children.push((byte, child));
        child
    }

    fn child(&self, node: LabelNode, byte: u8) -> Option<LabelNode> {
        let children = &self.nodes[node].children;
        children.iter().find(|(other, _)| *other == byte).map(|&(_, child)| child)
    }

    /// The number of nodes.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The label whose text ends at a node.
    pub(crate) fn label(&self, node: LabelNode) -> Option<usize> {
        self.nodes[node].label
    }

    /// The longest label that a text has passed at a node.
    pub(crate) fn passed(&self, node: LabelNode) -> Option<usize> {
        self.nodes[node].passed
    }

    /// The labels whose texts end at a node or below it; one with several spellings may come twice.
    pub(crate) fn labels_below(&self, node: LabelNode) -> Vec<usize> {
        let (mut labels, mut open) = (Vec::new(), vec![node]);
        while let Some(node) = open.pop() {
            labels.extend(self.nodes[node].label);
            open.extend(self.nodes[node].children.iter().map(|&(_, child)| child));
        }
        labels
    }

    /// The labels that texts from a node on may still become.
    pub(crate) fn reachable(&self, node: LabelNode) -> Reachable {
        self.nodes[node].reachable
    }

    /// The condition on what follows a label.
    pub(crate) fn end(&self) -> LabelEnd {
        self.end
    }

    /// The label that a text at this node is, whatever follows it.
    pub(crate) fn settled(&self, node: LabelNode) -> Option<usize> {
        let is_settled = self.end == LabelEnd::Anything && self.nodes[node].children.is_empty();
        self.nodes[node].label.filter(|_| is_settled)
    }

    /// The tokens that may follow a node. O(nodes below it, and tokens that leave after a label).
    pub(crate) fn next_tokens(&self, from: LabelNode, vocabulary: &Trie) -> NextTokens {
        let mut next = NextTokens::default();
        let mut open = vec![(from, 0)];
        while let Some((node, at)) = open.pop() {
            if at != 0 {
                next.stay.extend(vocabulary.tokens(at).iter().map(|&token| (token, node)));
                if let Some(label) = self.newly_passed(from, node) {
                    self.leaving(node, at, vocabulary, |token| next.pass.push((token, label)));
                }
            }
            for &(byte, child) in &self.nodes[node].children {
                open.extend(vocabulary.child(at, byte).map(|at| (child, at)));
            }
        }
        next.stay.sort_unstable();
        next.pass.sort_unstable();
        next
    }

    /// The label that counts for a token that leaves the tree at `node`, if it does not count at `from`.
    fn newly_passed(&self, from: LabelNode, node: LabelNode) -> Option<usize> {
        let passed = self.passed(node).filter(|_| self.end == LabelEnd::Anything);
        passed.filter(|_| self.passed(node) != self.passed(from))
    }

    /// The tokens that leave the tree at a node, at which the vocabulary's tree is `at`.
    fn leaving(&self, node: LabelNode, at: usize, vocabulary: &Trie, mut each: impl FnMut(u32)) {
        let nodes = vocabulary.nodes();
        let (mut child, end) = (at + 1, nodes[at].subtree_end as usize);
        while child < end {
            if self.child(node, nodes[child].byte).is_none() {
                vocabulary.subtree_tokens(child).iter().for_each(|&token| each(token));
            }
            child = nodes[child].subtree_end as usize;
        }
    }
}

impl Node {
    fn new(parent: Option<LabelNode>) -> Self {
        let (label, passed, reachable) = (None, None, Reachable::Nothing);
        Self { children: Vec::new(), label, passed, reachable, parent }
    }
}
