import { describe, expect, it } from 'vitest';
import { Pauses, type PausesOptions } from '../../../src/services/cluster/pauses.js';

/** A process whose clocks and state are told. */
function process(options: Partial<PausesOptions> = {}) {
  const time = { at: 5000, wall: 1_000_000 };
  const reads: { resolve(): void; reject(error: Error): void }[] = [];
  const pauses = new Pauses({
    catchUp: () => new Promise<void>((resolve, reject) => reads.push({ resolve, reject })),
    now: () => time.at,
    wallClock: () => time.wall,
    ...options,
  });
  pauses.close();
  const pass = (ms: number) => {
    time.at += ms;
    time.wall += ms;
  };
  return { pauses, reads, time, pass };
}

describe('a process that stood still', () => {
  it('uses what it remembers after a short break', () => {
    const { pauses, reads, pass } = process();
    for (const ms of [0, 999, 1000, 500]) {
      pass(ms);
      expect(pauses.current()).toBeUndefined();
    }
    expect(reads).toHaveLength(0);
  });

  it('reads the changes once after a pause, for all requests', async () => {
    const { pauses, reads, pass } = process();
    pass(1001);
    const waits = [pauses.current(), pauses.current()];
    expect(waits[0]).toBeInstanceOf(Promise);
    expect(reads).toHaveLength(1);
    reads[0]!.resolve();
    await Promise.all(waits);
    expect(pauses.current()).toBeUndefined();
  });

  it('notices the sleep of a machine by the wall clock', () => {
    const { pauses, reads, time } = process();
    time.wall += 60_000;
    expect(pauses.current()).toBeInstanceOf(Promise);
    expect(reads).toHaveLength(1);
    reads[0]!.resolve();
  });

  it('reads the changes again after a pause while they were read', async () => {
    const { pauses, reads, pass } = process();
    pass(2000);
    const waits = pauses.current()!;
    pass(2000);
    reads[0]!.resolve();
    await expect.poll(() => reads.length).toBe(2);
    reads[1]!.resolve();
    await waits;
    expect(pauses.current()).toBeUndefined();
  });

  it('refuses requests while the changes cannot be read, and tries again with the next one', async () => {
    const { pauses, reads, pass } = process();
    pass(2000);
    const waits = pauses.current()!;
    reads[0]!.reject(new Error('the state does not answer'));
    await expect(waits).rejects.toMatchObject({ code: 'unavailable', headers: { 'retry-after': '5' } });
    const again = pauses.current()!;
    reads[1]!.resolve();
    await again;
    expect(pauses.current()).toBeUndefined();
  });

  it('does not wait for a state that never answers', async () => {
    const { pauses, pass } = process({ patienceMs: 10 });
    pass(2000);
    await expect(pauses.current()).rejects.toMatchObject({ code: 'unavailable' });
  });
});

describe('a process that does not reach the state', () => {
  it('uses what it remembers without end', () => {
    const { pauses, pass } = process();
    for (let i = 0; i < 1000; i += 1) {
      pass(900);
      expect(pauses.current()).toBeUndefined();
    }
  });

  it('uses what it remembers for its grace, and reads the changes before it goes on', async () => {
    const { pauses, reads, pass } = process({ graceMs: 3000 });
    const passInSteps = () => {
      for (let i = 0; i < 3; i += 1) {
        pass(900);
        expect(pauses.current()).toBeUndefined();
      }
    };
    passInSteps();
    pauses.noteContact();
    passInSteps();
    pass(900);
    const refused = pauses.current()!;
    reads[0]!.reject(new Error('the state does not answer'));
    await expect(refused).rejects.toMatchObject({ code: 'unavailable' });
    pauses.noteContact();
    const again = pauses.current()!;
    reads[1]!.resolve();
    await again;
    passInSteps();
    expect(reads).toHaveLength(2);
  });

  it('reads on after others stopped waiting for it, and changes nothing until it has read the changes', async () => {
    const { pauses, reads, pass } = process({ changeGraceMs: 3000 });
    const passInSteps = (steps: number) => {
      for (let i = 0; i < steps; i += 1) {
        pass(900);
        expect(pauses.current()).toBeUndefined();
      }
    };
    passInSteps(3);
    expect(pauses.currentForChanges()).toBeUndefined();
    passInSteps(1);
    const refused = pauses.currentForChanges()!;
    reads[0]!.reject(new Error('the state does not answer'));
    await expect(refused).rejects.toMatchObject({ code: 'unavailable', headers: { 'retry-after': '5' } });
    // Contact alone does not say what others changed.
    pauses.noteContact();
    expect(pauses.current()).toBeUndefined();
    const again = pauses.currentForChanges()!;
    reads[1]!.resolve();
    await again;
    expect(pauses.currentForChanges()).toBeUndefined();
    expect(reads).toHaveLength(2);
  });
});
