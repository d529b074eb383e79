/** Metrics and memory of running processes of the gateway. */
import { pathToFileURL } from 'node:url';
import { fixturePath, type Printing, type RunningProcess } from './processes.ts';

/** Every series of one process: the name with its labels, as in the text format, and the value. */
export async function metricsOf(process: Printing): Promise<ReadonlyMap<string, number>> {
  const [, address] = (await process.line(/"admin":"([^"]+)"/)) as unknown as [string, string];
  const response = await fetch(`http://${address}/metrics`);
  const lines = (await response.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => {
      const space = line.lastIndexOf(' ');
      return [line.slice(0, space), Number(line.slice(space + 1))];
    }),
  );
}

/** Variables of processes with measured memory. */
export const measured = { NODE_OPTIONS: `--import ${pathToFileURL(fixturePath('collected-memory')).href}` };

/** How often processes have collected their garbage. */
const collections = new WeakMap<RunningProcess, number>();

/** Collects the garbage of a process. */
async function collected(process: RunningProcess): Promise<{ readonly all: number; readonly heap: number }> {
  const time = (collections.get(process) ?? 0) + 1;
  collections.set(process, time);
  process.kill('SIGUSR2');
  const line = await process.line(new RegExp(`^collected ${time}: (\\d+) bytes, (\\d+) of them in the heap$`));
  return { all: Number(line[1]), heap: Number(line[2]) };
}

/** Bytes that a process holds after it has collected its garbage. It must be started with `measured`. */
export const collectedMemoryOf = async (process: RunningProcess): Promise<number> => (await collected(process)).all;

/** As `collectedMemoryOf`, without the buffers outside the heap. */
export const collectedHeapOf = async (process: RunningProcess): Promise<number> => (await collected(process)).heap;

/** Bytes that a process holds once a further collection frees less than a megabyte: large buffers are freed some time after the first. */
export async function settledMemoryOf(process: RunningProcess): Promise<number> {
  for (let before = Infinity; ;) {
    const now = await collectedMemoryOf(process);
    if (now > before - 1024 * 1024) return now;
    before = now;
  }
}
