import { Writable } from 'node:stream';
import { expect, it } from 'vitest';
import { pino } from 'pino';
import { Faults } from './faults.ts';
import { Metrics } from './metrics.ts';

function faultsAt(clock: { now: number }): {
  readonly faults: Faults;
  readonly lines: { readonly msg: string; readonly times?: number }[];
  readonly metrics: Metrics;
} {
  const lines: { readonly msg: string; readonly times?: number }[] = [];
  const metrics = new Metrics({ processMetrics: false });
  const log = pino(
    { base: null },
    new Writable({
      write(line: Buffer, _encoding, done) {
        lines.push(JSON.parse(line.toString()) as { readonly msg: string });
        done();
      },
    }),
  );
  return { faults: new Faults({ log, metrics, now: () => clock.now }), lines, metrics };
}

it('a storm from outside is said once, then as a number', () => {
  const clock = { now: 0 };
  const { faults, lines } = faultsAt(clock);
  for (let count = 0; count < 1_000; count += 1) faults.fromOutside('junk', new Error('no JSON'));
  expect(lines).toMatchObject([{ msg: 'junk' }]);
  clock.now = 11_000;
  faults.flush();
  expect(lines).toMatchObject([{ msg: 'junk' }, { msg: 'junk', times: 999 }]);
  clock.now = 22_000;
  faults.flush();
  faults.flush();
  expect(lines.length).toBe(2);
});

it('however many different things come, few are remembered', () => {
  const { faults, lines } = faultsAt({ now: 0 });
  for (let count = 0; count < 10_000; count += 1) faults.fromOutside(`junk ${count}`, undefined);
  expect(lines.length).toBeLessThan(300);
});

it('what stays until somebody changes the installation is said once', () => {
  const clock = { now: 0 };
  const { faults, lines } = faultsAt(clock);
  for (clock.now = 0; clock.now < 100 * 60_000; clock.now += 60_000)
    faults.once('presence', 'a process of version 9.0.0');
  expect(lines).toMatchObject([{ msg: 'a process of version 9.0.0' }]);
});

it('versions that somebody makes up are a few lines, and keep neither another kind of thing from being said nor, for long, a version that is there', () => {
  const clock = { now: 0 };
  const { faults, lines } = faultsAt(clock);
  for (let count = 0; count < 1_000; count += 1) faults.once('presence', `a process of version ${count}`);
  expect(lines.length).toBeLessThan(30);
  faults.once('omnibus-sessions', 'a record of another format');
  expect(lines.at(-1)).toMatchObject({ msg: 'a record of another format' });
  for (clock.now = 0; clock.now < 11 * 60_000; clock.now += 1_000)
    faults.once('presence', 'a process of version 9.0.0');
  expect(lines.filter(({ msg }) => msg === 'a process of version 9.0.0').length).toBe(1);
});

it('a bug is counted by the boundary that caught it, and logged each time', async () => {
  const { faults, lines, metrics } = faultsAt({ now: 0 });
  faults.bug('handler', 'the handler failed', new Error('a bug'), 'abc');
  faults.bug('handler', 'the handler failed', new Error('a bug'), 'def');
  expect(lines).toMatchObject([
    { level: 50, incident: 'abc' },
    { level: 50, incident: 'def' },
  ]);
  expect(await metrics.text()).toContain('omnibus_faults_total{part="handler"} 2');
});
