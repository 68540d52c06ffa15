/** `0.4 s`, `12 s`, `3 min 5 s`, `2 h 4 min`. */
export function formatMilliseconds(milliseconds: number): string {
  const seconds = milliseconds / 1000;
  if (seconds < 10) return `${Math.max(0, seconds).toFixed(1)} s`;
  const whole = Math.round(seconds);
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  if (whole < 60) return `${whole} s`;
  return hours === 0 ? `${minutes} min ${whole % 60} s` : `${hours} h ${minutes} min`;
}
