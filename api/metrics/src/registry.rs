//! The registry: every metric of the table that is exposed, with what was counted.
//!
//! Invariants: there is one for a server, and nothing global; the name, the type and the number of
//! labels that a part asks for are those of the table, or the server does not start; a deprecated
//! metric is named in the log when it is first told.

mod text;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use quorate_registry::release::Release;

use crate::families::{
    Counter, CounterState, FamiliesShared, Family, Gauge, GaugeState, Histogram, HistogramState,
};
use crate::options::MetricsOptions;
use crate::samples::{Gathered, HistogramExport, Observations, Since};
use crate::table::{Exposure, MetricRow, MetricType, StabilityLevel};

pub use text::TextFormat;

/// Every exposed metric.
pub struct Registry {
    families: Vec<Metric>,
    shared: Arc<FamiliesShared>,
}

struct Metric {
    family: AnyFamily,
    /// Whether the log has named it.
    is_named: AtomicBool,
}

enum AnyFamily {
    Counter(Arc<Family<CounterState>>),
    Gauge(Arc<Family<GaugeState>>),
    Histogram(Arc<Family<HistogramState>>),
    /// Hidden, switched off or removed.
    Off(MetricRow),
}

impl Registry {
    /// Nothing counted yet. Histograms are exported to `export` as well.
    #[must_use]
    pub fn new(options: &MetricsOptions, export: Option<Arc<dyn HistogramExport>>) -> Arc<Self> {
        Arc::new(Self::of_release(Release::CURRENT, options, export))
    }

    pub(crate) fn of_release(
        release: Release,
        options: &MetricsOptions,
        export: Option<Arc<dyn HistogramExport>>,
    ) -> Self {
        let shared = Arc::new(FamiliesShared { export, ..FamiliesShared::default() });
        let mut counts = OwnCounts::default();
        let metric = |row: MetricRow| {
            let family = if counts.exposes(release, &row, options) {
                AnyFamily::new(row, options, &shared)
            } else {
                AnyFamily::Off(row)
            };
            Metric { family, is_named: AtomicBool::new(false) }
        };
        let families = MetricRow::all().into_iter().map(metric).collect();
        let registry = Self { families, shared };
        registry.count_itself(counts);
        registry
    }

    /// A counter of the table.
    ///
    /// # Panics
    /// When the table has no counter of this name with so many labels.
    #[must_use]
    pub fn counter<const N: usize>(&self, name: &str) -> Counter<N> {
        Counter(match self.find::<N>(name, MetricType::Counter) {
            AnyFamily::Counter(family) => {
                family.begin();
                Some(family.clone())
            }
            _ => None,
        })
    }

    /// A gauge of the table.
    ///
    /// # Panics
    /// When the table has no gauge of this name with so many labels.
    #[must_use]
    pub fn gauge<const N: usize>(&self, name: &str) -> Gauge<N> {
        Gauge(match self.find::<N>(name, MetricType::Gauge) {
            AnyFamily::Gauge(family) => {
                family.begin();
                Some(family.clone())
            }
            _ => None,
        })
    }

    /// A histogram of the table.
    ///
    /// # Panics
    /// When the table has no histogram of this name with so many labels.
    #[must_use]
    pub fn histogram<const N: usize>(&self, name: &str) -> Histogram<N> {
        Histogram(match self.find::<N>(name, MetricType::Histogram) {
            AnyFamily::Histogram(family) => {
                family.begin();
                Some(family.clone())
            }
            _ => None,
        })
    }

    /// The values of a counter or a gauge are asked of `observer` whenever they are read.
    ///
    /// # Panics
    /// When the table has no counter and no gauge of this name.
    pub fn observe(
        &self,
        name: &str,
        observer: impl Fn(&mut Observations<'_>) + Send + Sync + 'static,
    ) {
        match &self.metric(name).family {
            AnyFamily::Counter(family) => family.observe(Box::new(observer)),
            AnyFamily::Gauge(family) => family.observe(Box::new(observer)),
            AnyFamily::Off(row) if row.metric_type != MetricType::Histogram => {}
            _ => panic!("{name} is a histogram, whose values are counted"),
        }
    }

    /// Every metric that has something to tell, in the order of their names.
    pub fn gather(&self, since: Since) -> impl Iterator<Item = Gathered<'_>> {
        self.families.iter().filter_map(move |metric| metric.gather(since))
    }

    /// One metric by its name.
    #[must_use]
    pub fn gather_one(&self, name: &str, since: Since) -> Option<Gathered<'_>> {
        let place = self.families.binary_search_by(|metric| metric.family.row().name.cmp(name));
        self.families[place.ok()?].gather(since)
    }

    /// Every exposed metric.
    pub fn rows(&self) -> impl Iterator<Item = &MetricRow> {
        let exposed = |metric: &&Metric| !matches!(metric.family, AnyFamily::Off(_));
        self.families.iter().filter(exposed).map(|metric| metric.family.row())
    }

    /// The metrics that no part of the server counts.
    pub fn unused(&self) -> impl Iterator<Item = &'static str> {
        let unused = self.families.iter().filter(|metric| !metric.family.is_used());
        unused.map(|metric| metric.family.row().name)
    }

    /// Forgets what was counted until now.
    pub fn reset(&self) {
        for metric in &self.families {
            match &metric.family {
                AnyFamily::Counter(family) => family.reset(),
                AnyFamily::Gauge(family) => family.reset(),
                AnyFamily::Histogram(family) => family.reset(),
                AnyFamily::Off(_) => {}
            }
        }
    }

    fn find<const N: usize>(&self, name: &str, metric_type: MetricType) -> &AnyFamily {
        let family = &self.metric(name).family;
        let row = family.row();
        assert_eq!(
            (row.metric_type, row.labels.len()),
            (metric_type, N),
            "type and labels of the metric {name}"
        );
        family
    }

    fn metric(&self, name: &str) -> &Metric {
        let place = self.families.binary_search_by(|metric| metric.family.row().name.cmp(name));
        &self.families[place.unwrap_or_else(|_| panic!("the table has no metric {name}"))]
    }

    /// What the registry counts of itself.
    fn count_itself(&self, counts: OwnCounts) {
        let OwnCounts { hidden, disabled, registered } = counts;
        let count = |name, count: u64| self.observe(name, move |to| to.add_count(&[], count));
        count("hidden_metrics_total", hidden);
        count("disabled_metrics_total", disabled);
        self.observe("registered_metrics_total", move |to| {
            for ((level, deprecated), count) in &registered {
                let deprecated = deprecated.map(|release| format!("{release}.0"));
                let labels = [&*level.to_string(), deprecated.as_deref().unwrap_or_default()];
                to.add_count(&labels, *count);
            }
        });
        let shared = self.shared.clone();
        self.observe("cardinality_enforcement_unexpected_categorizations_total", move |to| {
            to.add_count(&[], shared.unexpected.load(Ordering::Relaxed));
        });
        let shared = self.shared.clone();
        self.observe("quorate_metrics_overflowed_total", move |to| {
            to.add_count(&[], shared.overflowed.load(Ordering::Relaxed));
        });
    }
}

/// What a registry has done with the rows of the table.
#[derive(Debug, Default)]
struct OwnCounts {
    hidden: u64,
    disabled: u64,
    registered: std::collections::BTreeMap<(StabilityLevel, Option<Release>), u64>,
}

impl OwnCounts {
    fn exposes(&mut self, release: Release, row: &MetricRow, options: &MetricsOptions) -> bool {
        let exposure = row.exposure(release);
        let is_hidden = exposure == Exposure::Hidden && !options.shows_hidden();
        let is_disabled = options.disables(row.name);
        self.hidden += u64::from(is_hidden);
        self.disabled += u64::from(is_disabled && exposure != Exposure::Removed);
        let is_exposed = exposure != Exposure::Removed && !is_hidden && !is_disabled;
        if is_exposed && row.level != StabilityLevel::Unnamed {
            *self.registered.entry((row.level, row.deprecated)).or_default() += 1;
        }
        is_exposed
    }
}

impl Metric {
    fn gather(&self, since: Since) -> Option<Gathered<'_>> {
        if !self.family.is_used() {
            return None;
        }
        let samples = match &self.family {
            AnyFamily::Counter(family) => family.samples(since),
            AnyFamily::Gauge(family) => family.samples(since),
            AnyFamily::Histogram(family) => family.samples(since),
            AnyFamily::Off(_) => return None,
        };
        let row = self.family.row();
        if samples.is_empty() {
            return None;
        }
        if let Some(release) = row.deprecated
            && !self.is_named.swap(true, Ordering::Relaxed)
        {
            tracing::warn!(metric = row.name, %release, "a metric is in use that is deprecated");
        }
        Some(Gathered { row, samples })
    }
}

impl AnyFamily {
    fn new(row: MetricRow, options: &MetricsOptions, shared: &Arc<FamiliesShared>) -> Self {
        let allowed = options.allowed(&row);
        match row.metric_type {
            MetricType::Counter => {
                Self::Counter(Arc::new(Family::new(row, allowed, shared.clone())))
            }
            MetricType::Gauge => Self::Gauge(Arc::new(Family::new(row, allowed, shared.clone()))),
            MetricType::Histogram => {
                Self::Histogram(Arc::new(Family::new(row, allowed, shared.clone())))
            }
        }
    }

    fn row(&self) -> &MetricRow {
        match self {
            Self::Counter(family) => &family.row,
            Self::Gauge(family) => &family.row,
            Self::Histogram(family) => &family.row,
            Self::Off(row) => row,
        }
    }

    fn is_used(&self) -> bool {
        match self {
            Self::Counter(family) => family.is_used(),
            Self::Gauge(family) => family.is_used(),
            Self::Histogram(family) => family.is_used(),
            Self::Off(_) => true,
        }
    }
}

impl Default for Registry {
    /// With every metric that the release shows.
    fn default() -> Self {
        Self::of_release(Release::CURRENT, &MetricsOptions::default(), None)
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry").field("families", &self.families.len()).finish_non_exhaustive()
    }
}
