import type { RecordedEvent } from '../../runtime/profile/recorder.js';

/** An entry of Chrome's trace format. Times are in microseconds. */
type TraceEvent =
  | {
      readonly ph: 'X';
      readonly name: string;
      readonly cat: string;
      readonly ts: number;
      readonly dur: number;
      readonly pid: number;
      readonly tid: number;
      readonly args: Readonly<Record<string, unknown>>;
    }
  | {
      readonly ph: 'M';
      readonly name: 'process_name' | 'thread_name';
      readonly pid: number;
      readonly tid: number;
      readonly args: { readonly name: string };
    };

const process = 1;

/** Events as JSON in Chrome's trace format, with a thread for the host and one for each device. */
export function chromeTrace(events: readonly RecordedEvent[], dropped: number): string {
  const threads = new Map<string, number>([['host', 0]]);
  for (const { track } of events) if (!threads.has(track)) threads.set(track, threads.size);
  const names = [...threads].map(([name, tid]): TraceEvent => ({
    ph: 'M',
    name: 'thread_name',
    pid: process,
    tid,
    args: { name },
  }));
  const traceEvents: readonly TraceEvent[] = [
    { ph: 'M', name: 'process_name', pid: process, tid: 0, args: { name: 'kaon' } },
    ...names,
    ...events.map(({ kind, name, track, begin, milliseconds, label }): TraceEvent => {
      const { source = null, reads = [] } = label ?? {};
      return {
        ph: 'X',
        name,
        cat: kind,
        ts: begin * 1000,
        dur: milliseconds * 1000,
        pid: process,
        tid: threads.get(track)!,
        args: { ...(source !== null && { source }), ...(reads.length > 0 && { reads }) },
      };
    }),
  ];
  return JSON.stringify({ traceEvents, displayTimeUnit: 'ms', otherData: { droppedEvents: dropped } }); // prettier-ignore
}
