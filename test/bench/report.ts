import { execFileSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { root } from '../support/processes.ts';

export interface Row {
  readonly scenario: string;
  readonly name: string;
  /** Processor time of all its processes for each call, in microseconds. */
  readonly cpuMicros: number;
  readonly perSecond: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  /** Processor time for each call, relative to the thin proxy in the same round. */
  readonly ratio: number;
  readonly megabytes: number;
}

export interface RunInfo {
  readonly isQuick: boolean;
  readonly sessions: number;
  readonly rounds: number;
  readonly roundMs: number;
}

/** Prints the table, and writes it with its figures to `test/bench/results/` unless the run was a quick one. */
export async function report(rows: readonly Row[], info: RunInfo): Promise<void> {
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim();
  const date = new Date().toISOString().slice(0, 10);
  const lines = [
    `# Benchmark, ${date}, commit ${commit}`,
    '',
    `\`npm run bench\` on ${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}, Node ${process.version}: ${info.sessions} sessions, each with one call in flight; medians of ${info.rounds} rounds of ${info.roundMs / 1_000} s that alternate between what is compared.`,
    'CPU is user and system time of all processes of the thing measured, per call; the ratio is to the thin proxy of the same scenario. NATS itself, the upstream and the load are not counted.',
    'Not measured: TLS, authentication, clients that listen on a stream, results larger than a line, networks.',
    '',
    '| scenario | what | CPU a call | ratio | calls/s | p50 | p95 | p99 | memory |',
    '|---|---|---|---|---|---|---|---|---|',
    ...rows.map(
      (row) =>
        `| ${row.scenario} | ${row.name} | ${row.cpuMicros.toFixed(1)} µs | **${row.ratio.toFixed(2)}** | ${row.perSecond.toFixed(0)} | ${row.p50.toFixed(2)} ms | ${row.p95.toFixed(2)} ms | ${row.p99.toFixed(2)} ms | ${row.megabytes.toFixed(0)} MB |`,
    ),
    '',
  ];
  const text = lines.join('\n');
  console.log(`\n${text}`);
  if (info.isQuick) return;
  const folder = join(root, 'test/bench/results');
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, `${date}-${commit}.md`), text);
  await writeFile(
    join(folder, `${date}-${commit}.json`),
    `${JSON.stringify({ date, commit, ...info, rows }, null, 2)}\n`,
  );
}
