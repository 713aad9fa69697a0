//! Axes of charts.

/// Steps of an axis.
const MOST_STEPS: f64 = 4.0;

/// An axis that begins and ends at round numbers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Scale {
    /// Its beginning.
    pub low: f64,
    /// Distance of two ticks.
    pub step: f64,
    /// Number of steps.
    pub ticks: usize,
}

impl Scale {
    /// The axis for what occurs, with steps no smaller than that, a power of ten; none if nothing does.
    pub fn new(values: impl Iterator<Item = f64>, smallest_step: f64) -> Option<Scale> {
        let (low, high) =
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        if low > high {
            return None;
        }
        // A tenth around a line that is level, and something around one at zero.
        let room = (high - low).max(high.abs() * 0.1).max(0.01);
        // 1, 2 or 5 times a power of ten, the first of which a few steps are enough. Logarithms would cost kilobytes.
        let mut step = smallest_step;
        for times in [2.0, 2.5, 2.0].into_iter().cycle() {
            if room / step <= MOST_STEPS {
                break;
            }
            step *= times;
        }
        let first = (low / step).floor();
        let ticks = ((high / step).ceil() - first).max(1.0) as usize;
        Some(Scale { low: first * step, step, ticks })
    }

    /// Its end.
    pub fn high(self) -> f64 {
        self.low + self.step * self.ticks as f64
    }
}

#[cfg(test)]
mod tests {
    use super::Scale;

    #[test]
    fn the_axis_begins_and_ends_at_round_numbers_around_what_occurs() {
        let axis =
            |values: &[f64]| Scale::new(values.iter().copied(), 0.001).map(|axis| (axis.low, axis.high(), axis.ticks));
        assert_eq!(axis(&[]), None);
        assert_eq!(axis(&[1_701.0, 2_646.0]), Some((1_500.0, 3_000.0, 3)));
        assert_eq!(axis(&[17.0, 49.0]), Some((10.0, 50.0, 4)));
        let (low, high, ticks) = axis(&[0.65, 1.0]).unwrap();
        assert!((low - 0.6).abs() < 1e-9 && (high - 1.0).abs() < 1e-9 && ticks == 4);
        let counts = Scale::new([1.0, 2.0].into_iter(), 1.0).unwrap();
        assert_eq!((counts.low, counts.step, counts.ticks), (1.0, 1.0, 1));
        let (low, high, _) = axis(&[0.0]).unwrap();
        assert!(low == 0.0 && high > 0.0);
        let (low, high, _) = axis(&[500.0, 500.0]).unwrap();
        assert!(low <= 500.0 && high > 500.0 || low < 500.0 && high >= 500.0);
    }
}
