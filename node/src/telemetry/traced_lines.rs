//! Lines of the log with the ids of the trace that they were written in.
//!
//! Invariant: outside of traced requests a line is as its format writes it.

use std::fmt;

use quorate_trace::TraceContext;
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use super::LogFormat;

/// A format of lines, to which the ids are added.
pub(super) struct TracedLines<E> {
    pub(super) format: E,
    /// How its lines look.
    pub(super) form: LogFormat,
}

impl<S, N, E> FormatEvent<S, N> for TracedLines<E>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
    E: FormatEvent<S, N>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let Some(trace) = quorate_trace::current().context() else {
            return self.format.format_event(context, writer, event);
        };
        let mut line = String::new();
        self.format.format_event(context, Writer::new(&mut line), event)?;
        writer.write_str(&with_ids(self.form, &line, &trace))
    }
}

/// The line with the ids at its end.
fn with_ids(form: LogFormat, line: &str, context: &TraceContext) -> String {
    let (line, TraceContext { trace, span, .. }) = (line.trim_end(), context);
    match (form, line.strip_suffix('}')) {
        (LogFormat::Json, Some(members)) => {
            format!("{members},\"trace_id\":\"{trace}\",\"span_id\":\"{span}\"}}\n")
        }
        _ => format!("{line} trace_id={trace} span_id={span}\n"),
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;

    use parking_lot::Mutex;
    use quorate_trace::{FinishedTrace, SamplerOptions, TraceSink, Tracer};
    use tracing_subscriber::fmt;

    use super::*;

    #[derive(Debug)]
    struct Nowhere;

    impl TraceSink for Nowhere {
        fn export(&self, _: FinishedTrace) {}
    }

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lines_of_a_request_have_the_ids_of_its_trace() {
        let tracer = Tracer::new([1; 16], SamplerOptions::default(), Arc::new(Nowhere));
        let trace = tracer.begin(None);
        let context = trace.span().context().unwrap();
        let lines = Lines::default();
        let writer = lines.clone();
        let json = fmt().json().flatten_event(true).with_writer(move || writer.clone());
        let json = json.map_event_format(|format| TracedLines { format, form: LogFormat::Json });
        tracing::subscriber::with_default(json.finish(), || {
            trace.span().enter(|| tracing::info!(what = 1, "inside"));
            tracing::info!("outside");
        });
        let text = String::from_utf8(std::mem::take(&mut *lines.0.lock())).unwrap();
        let read: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let [inside, outside] = &read[..] else { panic!("{text}") };
        assert_eq!((&inside["message"], &inside["what"]), (&"inside".into(), &1.into()));
        assert_eq!(inside["trace_id"], context.trace.to_string());
        assert_eq!(inside["span_id"], context.span.to_string());
        assert_eq!((&outside["message"], outside.get("trace_id")), (&"outside".into(), None));
        let line = with_ids(LogFormat::Text, "INFO: inside what=1\n", &context);
        let ids = format!("trace_id={} span_id={}\n", context.trace, context.span);
        assert_eq!(line, format!("INFO: inside what=1 {ids}"));
    }
}
