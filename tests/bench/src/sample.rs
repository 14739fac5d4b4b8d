//! Samples of one measurement, and what is told of them: how large they are in the middle, at the edges, at the end.

use std::time::Duration;

/// Measured values of one kind, in the order in which they came.
#[derive(Debug, Clone, Default)]
pub(crate) struct Samples(Vec<f64>);

/// What is told of samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Figures {
    pub(crate) median: f64,
    pub(crate) p10: f64,
    pub(crate) p90: f64,
    pub(crate) p99: f64,
    pub(crate) count: usize,
}

impl Samples {
    /// A value that was measured once.
    pub(crate) fn one(value: f64) -> Self {
        Self(vec![value])
    }

    /// Adds a time, in nanoseconds.
    pub(crate) fn time(&mut self, time: Duration) {
        self.0.push(time.as_secs_f64() * 1e9);
    }

    /// Adds the time of one of `count` equal calls that took `time` together, in nanoseconds.
    pub(crate) fn shared_time(&mut self, time: Duration, count: u32) {
        self.0.push(time.as_secs_f64() * 1e9 / f64::from(count.max(1)));
    }

    /// Adds a value as it is.
    pub(crate) fn value(&mut self, value: f64) {
        self.0.push(value);
    }

    /// The figures; none where nothing was measured.
    pub(crate) fn figures(&self) -> Option<Figures> {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        // The smallest value that at least this share of the samples does not exceed.
        let at = |percent: usize| sorted.get((sorted.len() * percent).div_ceil(100).max(1) - 1).copied();
        Some(Figures { median: at(50)?, p10: at(10)?, p90: at(90)?, p99: at(99)?, count: sorted.len() })
    }

    /// These over those: the ratio of the medians, with the spread of the ratios of samples taken in turn. None where
    /// one side has none.
    pub(crate) fn over(&self, base: &Self) -> Option<Figures> {
        let pairs = Self(self.0.iter().zip(&base.0).map(|(this, base)| this / base).collect());
        let median = self.figures()?.median / base.figures()?.median;
        Some(Figures { median, ..pairs.figures()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_values_that_were_measured() {
        let samples = Samples((1..=100).rev().map(f64::from).collect());
        let figures = samples.figures().unwrap();
        assert_eq!(figures, Figures { median: 50.0, p10: 10.0, p90: 90.0, p99: 99.0, count: 100 });
        assert_eq!(Samples::one(3.0).figures().unwrap().p99.to_bits(), 3.0_f64.to_bits());
        assert_eq!(Samples::default().figures(), None);
    }

    #[test]
    fn a_ratio_is_that_of_the_medians() {
        let this = Samples(vec![2.0, 4.0, 6.0]);
        let base = Samples(vec![1.0, 2.0, 9.0]);
        let ratio = this.over(&base).unwrap();
        assert!((ratio.median - 2.0).abs() < 1e-9 && ratio.p10 < 1.0 && ratio.count == 3);
        assert_eq!(this.over(&Samples::default()), None);
    }
}
