/** A real Prometheus that scrapes the processes of a test. */
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startProcess } from './processes.ts';

export interface Prometheus {
  /** The numeric values of an instant query, now. */
  query(expression: string): Promise<number[]>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** @param targets `host:port` of the servers of `/metrics`. */
export async function startPrometheus(targets: readonly string[]): Promise<Prometheus> {
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-prometheus-'));
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  const file = join(folder, 'prometheus.yml');
  await writeFile(
    file,
    JSON.stringify({
      global: { scrape_interval: '1s' },
      scrape_configs: [{ job_name: 'omnibus', static_configs: [{ targets }] }],
    }),
  );
  const running = startProcess('prometheus', [
    `--config.file=${file}`,
    `--storage.tsdb.path=${folder}`,
    `--web.listen-address=127.0.0.1:${port}`,
  ]);
  await running.line(/Server is ready to receive web requests/);
  return {
    async query(expression) {
      const response = await fetch(
        `http://127.0.0.1:${port}/api/v1/query?${new URLSearchParams({ query: expression }).toString()}`,
      );
      const { status, error, data } = (await response.json()) as {
        status: string;
        error?: string;
        data?: { result: readonly { readonly value: readonly [number, string] }[] };
      };
      if (status !== 'success' || data === undefined) throw new Error(`${expression}: ${error}`);
      return data.result.map(({ value }) => Number(value[1])).filter((value) => Number.isFinite(value));
    },
    async [Symbol.asyncDispose]() {
      await running[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
