/** Milliseconds before the page opens another stream after the server refused one. */
const RETRY_MS = 5000;

interface Follower {
  /** Alert events changed, or changes were missed. */
  changed(): void;
  state(state: 'connecting' | 'open' | 'waiting'): void;
}

/** Follows the alert stream from a position. Browsers resume after the last event that they received. */
export function followAlerts(stream: string, cursor: number, follower: Follower): void {
  let last = String(cursor);
  const note = ({ lastEventId }: MessageEvent) => {
    if (lastEventId !== '') last = lastEventId;
  };
  const connect = () => {
    follower.state('connecting');
    const source = new EventSource(`${stream}?clientLabel=alerts%20page&cursor=${encodeURIComponent(last)}`);
    source.addEventListener('status', (event) => {
      note(event);
      follower.state('open');
    });
    source.addEventListener('heartbeat', note);
    for (const type of ['alert', 'gap'])
      source.addEventListener(type, (event) => {
        note(event as MessageEvent);
        follower.changed();
      });
    source.onerror = () => {
      follower.state('waiting');
      // After an error status, the browser does not try again.
      if (source.readyState === EventSource.CLOSED) setTimeout(connect, RETRY_MS);
    };
  };
  connect();
}
