/**
 * Measures how long it takes from starting the gateway to its first answer, of the package and of this clone as it is built:
 * `npm run package && node scripts/package/cold-start.mjs 11`. The two take turns, so that what else the machine does meets both.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const runs = Number(process.argv[2] ?? 11);
const folder = mkdtempSync(join(tmpdir(), 'omnibus-cold-'));
const config = join(folder, 'omnibus.json');
writeFileSync(config, JSON.stringify({ mcpServers: {}, log: { format: 'json' } }));
writeFileSync(join(folder, 'package.json'), '{}');
const [archive] = globSync(join(root, 'dist/omnibus-gateway-*.tgz'));
if (archive === undefined) throw new Error('there is no package yet: npm run package');
execFileSync('npm', ['install', '--offline', '--ignore-scripts', '--no-audit', '--no-fund', archive], { cwd: folder, stdio: 'ignore' });
const programs = { package: join(folder, 'node_modules/@omnibus/gateway/bin/omnibus.js'), clone: join(root, 'services/gateway/bin/omnibus.js') };

/** Milliseconds of processor time that a process has used (proc_pid_stat(5): 14 and 15, in hundredths); what else a machine does hardly changes it. */
function usedBy(pid) {
  if (process.platform !== 'linux') return Number.NaN;
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** @returns milliseconds until the answer to `initialize` was there, by the clock and of the processor. */
async function toFirstAnswer(program) {
  const began = performance.now();
  const child = spawn('node', [program, 'serve', '--config', config, '--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0'], { stdio: ['ignore', 'ignore', 'pipe'] });
  for await (const line of createInterface({ input: child.stderr })) {
    const { endpoint } = JSON.parse(line);
    if (endpoint === undefined) continue;
    const body = { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'cold', version: '1' } } };
    const answer = await fetch(endpoint, { method: 'POST', headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }, body: JSON.stringify(body) });
    if (!(await answer.text()).includes('serverInfo')) throw new Error(`answered ${answer.status}`);
    const took = { answer: performance.now() - began, processor: usedBy(child.pid) };
    child.kill('SIGTERM');
    await once(child, 'exit');
    return took;
  }
  throw new Error('it ended before it served');
}

async function toVersion(program) {
  const began = performance.now();
  await once(spawn('node', [program, '--version'], { stdio: 'ignore' }), 'exit');
  return performance.now() - began;
}

const took = { package: { answer: [], processor: [], version: [] }, clone: { answer: [], processor: [], version: [] } };
for (let run = 0; run <= runs; run += 1) {
  for (const [name, program] of Object.entries(programs)) {
    const [{ answer, processor }, version] = [await toFirstAnswer(program), await toVersion(program)];
    // The first of each fills the caches of the disk.
    if (run === 0) continue;
    took[name].answer.push(answer);
    took[name].processor.push(processor);
    took[name].version.push(version);
  }
}
const median = (numbers) => Math.round(numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)]);
for (const [name, { answer, processor, version }] of Object.entries(took)) console.log(`${name}: ${median(answer)} ms to the first answer (${Math.round(Math.min(...answer))} to ${Math.round(Math.max(...answer))}), ${median(processor)} ms of the processor, ${median(version)} ms to --version, ${runs} runs, Node ${process.versions.node}`);
rmSync(folder, { recursive: true });
