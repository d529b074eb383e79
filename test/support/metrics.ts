/** Metrics and memory of running processes of the gateway. */
import type { RunningProcess } from './processes.ts';

/** Every series of one process: the name with its labels, as in the text format, and the value. */
export async function metricsOf(process: RunningProcess): Promise<ReadonlyMap<string, number>> {
  const [, address] = (await process.line(/"admin":"([^"]+)"/)) as unknown as [string, string];
  const response = await fetch(`http://${address}/metrics`);
  const lines = (await response.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(lines.map((line) => {
    const space = line.lastIndexOf(' ');
    return [line.slice(0, space), Number(line.slice(space + 1))];
  }));
}

/** Bytes of memory that processes hold. */
export function memoryOf(processes: readonly RunningProcess[]): Promise<number[]> {
  return Promise.all([...new Set(processes)].map(async (process) => (await metricsOf(process)).get('process_resident_memory_bytes') as number));
}
