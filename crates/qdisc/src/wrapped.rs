//! What a discipline around another one passes on: the questions that the inner one answers alone.

/// The methods of `Qdisc` that the field `inner` answers. What a wrapper does itself is written beside it: to enqueue, to
/// dequeue, the bypass, and what it tells of itself.
macro_rules! inner_answers {
    () => {
        fn queues_segments(&self, train: &Packet) -> bool {
            self.inner.queues_segments(train)
        }

        fn peek(&mut self, context: &mut Context<'_>) -> Option<Peeked> {
            self.inner.peek(context)
        }

        fn note_peeked(&mut self, length: Option<u32>) {
            self.inner.note_peeked(length);
        }

        fn count_bypassed(&mut self, bypassed: Bypassed) {
            self.inner.count_bypassed(bypassed);
        }

        fn closed_until(&self) -> SimTime {
            self.inner.closed_until()
        }

        fn backlog(&self) -> Backlog {
            self.inner.backlog()
        }

        fn high_water(&self) -> Backlog {
            self.inner.high_water()
        }

        fn counters(&self) -> Counters {
            self.inner.counters()
        }

        fn own_counters(&self, show: &mut dyn FnMut(&'static str, u64)) {
            self.inner.own_counters(show);
        }

        fn own_levels(&self, show: &mut dyn FnMut(&'static str, i64)) {
            self.inner.own_levels(show);
        }

        fn parts(&self) -> Vec<Part> {
            self.inner.parts()
        }

        fn kind(&self) -> &'static str {
            self.inner.kind()
        }

        fn visit_children(&self, show: &mut dyn FnMut(&dyn Qdisc)) {
            self.inner.visit_children(show);
        }

        fn takes_over_pacing(&self) -> bool {
            self.inner.takes_over_pacing()
        }
    };
}

pub(crate) use inner_answers;
