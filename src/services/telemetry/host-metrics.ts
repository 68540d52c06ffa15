import { Gauge } from './instruments.js';

/** Instruments of the machine. */

export const certificateSecondsLeft = new Gauge({
  name: 'svc_tls_certificate_left_seconds',
  help: 'Time until the TLS certificate of the server expires. Negative after that time.',
});
export const clockSkew = new Gauge({
  name: 'svc_clock_skew_seconds',
  help: 'Difference between the clock of this machine and the clock of the state. Positive: this machine is ahead.',
});

export const HOST_INSTRUMENTS = [certificateSecondsLeft, clockSkew];
