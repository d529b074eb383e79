/**
 * Measures the time from the start of a gateway to its first answers, with one server on stdin and stdout: of the package, of this clone, and of other
 * gateways from npm and PyPI. Then it measures the memory of the package with two such servers, beside a bare `node`. `npm run package && node
 * scripts/package/cold-start.mjs 11` takes four minutes. The gateways take turns, so that other load on the machine affects all of them.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const runs = Number(process.argv[2] ?? 11);
const retryMs = 5;
/** A gateway that needs longer for one answer is not measured further. */
const limitMs = 20_000;
/** Between the first call and the measurement of memory. */
const restMs = 4_000;
const folder = mkdtempSync(join(tmpdir(), 'omnibus-cold-'));
const quiet = { stdio: ['ignore', 'ignore', 'inherit'] };
/** The server behind each gateway. */
const server = [process.execPath, join(root, 'test/dist/fixtures/stdio-server.js')];
if (!existsSync(server[1])) throw new Error('the tests are not built yet: npm run build');
const [archive] = globSync(join(root, 'dist/omnibus-gateway-*.tgz'));
if (archive === undefined) throw new Error('there is no package yet: npm run package');

writeFileSync(join(folder, 'package.json'), '{}');
execFileSync('npm', ['install', '--offline', '--ignore-scripts', '--no-audit', '--no-fund', archive], {
  cwd: folder,
  ...quiet,
});
const entry = { command: server[0], args: [server[1]] };
const configOf = (name, mcpServers) => {
  const file = join(folder, name);
  writeFileSync(file, JSON.stringify({ mcpServers }));
  return file;
};
const one = configOf('one.json', { up: entry });
const two = configOf('two.json', { up: entry, other: entry });
const installed = join(folder, 'node_modules/@omnibus/gateway/bin/omnibus.js');
const omnibus = (program, config = one) => ({
  words: (port) => [
    process.execPath,
    program,
    'serve',
    '--config',
    config,
    '--listen',
    `127.0.0.1:${port}`,
    '--admin',
    '127.0.0.1:0',
  ],
});
const subjects = {
  'Omnibus, the package': omnibus(installed),
  'Omnibus, a clone as it is built': omnibus(join(root, 'services/gateway/bin/omnibus.js')),
  ...othersOfNpm(),
  ...othersOfPyPI(),
};

/** `mcp-hub` is not included: it serves its clients over the transport of 2024-11-05 only. */
function othersOfNpm() {
  const place = join(root, 'test/bench/.work/cold');
  const versions = { 'mcp-proxy': '6.7.19', supergateway: '4.0.0' };
  const bin = (name) => join(place, 'node_modules/.bin', name);
  if (!Object.keys(versions).every((name) => existsSync(bin(name)))) {
    mkdirSync(place, { recursive: true });
    writeFileSync(join(place, 'package.json'), '{}');
    execFileSync(
      'npm',
      [
        'install',
        '--no-audit',
        '--no-fund',
        '--loglevel=error',
        ...Object.entries(versions).map(([name, version]) => `${name}@${version}`),
      ],
      { cwd: place, ...quiet },
    );
  }
  return {
    [`mcp-proxy ${versions['mcp-proxy']} (npm)`]: {
      words: (port) => [
        process.execPath,
        bin('mcp-proxy'),
        '--host',
        '127.0.0.1',
        '--port',
        port,
        '--server',
        'stream',
        '--',
        ...server,
      ],
    },
    [`supergateway ${versions.supergateway} (npm)`]: {
      words: (port) => [
        process.execPath,
        bin('supergateway'),
        '--stdio',
        server.join(' '),
        '--outputTransport',
        'streamableHttp',
        '--stateful',
        '--logLevel',
        'none',
        '--port',
        port,
      ],
    },
  };
}

/** Left out without Python 3.10 with venv. */
function othersOfPyPI() {
  const place = join(root, 'test/bench/.work/python');
  const version = '0.13.0';
  const program = join(place, 'bin/mcp-proxy');
  try {
    if (!existsSync(program)) {
      execFileSync('python3', ['-m', 'venv', place], quiet);
      execFileSync(join(place, 'bin/pip'), ['install', '--quiet', `mcp-proxy==${version}`], quiet);
    }
  } catch {
    console.error('mcp-proxy of PyPI could not be installed; it is left out');
    return {};
  }
  return {
    [`mcp-proxy ${version} (PyPI)`]: {
      words: (port) => [program, '--host', '127.0.0.1', '--port', port, '--pass-environment', ...server],
    },
  };
}

/** A port that was free just now. */
async function freePort() {
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address();
  listener.close();
  await once(listener, 'close');
  return String(port);
}

/**
 * Milliseconds of processor time of a process (proc_pid_stat(5): 14 and 15, in hundredths), without its children; other load on the machine hardly
 * changes it.
 */
function usedBy(pid) {
  if (process.platform !== 'linux') return Number.NaN;
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** Megabytes of a process that are resident, without its children. */
function residentOf(pid) {
  if (process.platform !== 'linux') return Number.NaN;
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]) / 1000;
}

/** Opens a client of Streamable HTTP, and resolves when `initialize` is answered. @param child the gateway; requests are repeated until it listens. */
async function open(url, child) {
  const protocolVersion = '2025-06-18';
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  let id = 0;
  const post = async (message) => {
    const body = JSON.stringify({ jsonrpc: '2.0', ...message });
    let response;
    while (response === undefined) {
      response = await fetch(url, { method: 'POST', headers, body, signal: AbortSignal.timeout(limitMs) }).catch(
        (error) => {
          if (child.exitCode !== null || error.name === 'TimeoutError') throw error;
        },
      );
      if (response === undefined) await setTimeout(retryMs);
    }
    const text = await response.text();
    if (!response.ok) throw new Error(`${url} answered ${response.status}: ${text}`);
    const session = response.headers.get('mcp-session-id');
    if (session !== null) headers['mcp-session-id'] = session;
    const line = text.startsWith('{')
      ? text
      : text
          .split('\n')
          .find((each) => each.startsWith('data: {'))
          ?.slice('data: '.length);
    return line === undefined ? undefined : JSON.parse(line);
  };
  const ask = (method, params) => post({ id: (id += 1), method, params });
  await ask('initialize', { protocolVersion, capabilities: {}, clientInfo: { name: 'cold', version: '1' } });
  headers['mcp-protocol-version'] = protocolVersion;
  await post({ method: 'notifications/initialized' });
  return ask;
}

/**
 * @param rest milliseconds from the call until the memory is measured.
 * @returns milliseconds from the start until `initialize` was answered, and until a tool of the server was listed and called; the processor time until
 * then; and the resident memory after the rest.
 */
async function start({ words }, rest = 0) {
  const port = await freePort();
  const [command, ...args] = words(port);
  const began = performance.now();
  const child = spawn(command, args, { stdio: 'ignore', cwd: folder });
  const exited = once(child, 'exit');
  try {
    const ask = await open(`http://127.0.0.1:${port}/mcp`, child);
    const initialized = performance.now() - began;
    let tool;
    while (tool === undefined)
      tool = (await ask('tools/list', {})).result.tools.find(({ name }) => name.endsWith('echo'));
    const called = await ask('tools/call', { name: tool.name, arguments: { cold: 1 } });
    if (called.result?.content?.[0]?.text !== '{"cold":1}')
      throw new Error(`the call was answered ${JSON.stringify(called)}`);
    const took = { initialized, called: performance.now() - began, processor: usedBy(child.pid) };
    await setTimeout(rest);
    return { ...took, resident: residentOf(child.pid) };
  } finally {
    // Two of them can be ended only in this way.
    child.kill('SIGKILL');
    await exited;
  }
}

/** @returns megabytes of a `node` that runs nothing. */
async function bareNode() {
  const child = spawn(process.execPath, ['--eval', `setTimeout(() => {}, ${limitMs})`], { stdio: 'ignore' });
  const exited = once(child, 'exit');
  await setTimeout(restMs);
  const resident = residentOf(child.pid);
  child.kill('SIGKILL');
  await exited;
  return resident;
}

const took = new Map(Object.keys(subjects).map((name) => [name, []]));
for (let run = 0; run <= runs; run += 1) {
  for (const [name, subject] of Object.entries(subjects)) {
    const measured = await start(subject);
    // The first run fills the disk cache.
    if (run > 0) took.get(name).push(measured);
  }
}
const middle = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];
const seconds = (ms) => (ms / 1000).toFixed(2);
console.log(`${runs} starts of each, in turns, Node ${process.versions.node}\n`);
console.log(
  '| | answers `initialize`, fastest and median start | has called a tool, fastest and median | processor time of the gateway until then, median |\n|---|---|---|---|',
);
for (const [name, all] of took) {
  const [initialized, called] = ['initialized', 'called'].map((what) => all.map((each) => each[what]));
  console.log(
    `| ${name} | ${[initialized, called].map((times) => `${seconds(Math.min(...times))} s, ${seconds(middle(times))} s`).join(' | ')} | ${seconds(middle(all.map((each) => each.processor)))} s |`,
  );
}
const resident = { gateway: [], bare: [] };
for (let run = 0; run < runs; run += 1) {
  resident.gateway.push((await start(omnibus(installed, two), restMs)).resident);
  resident.bare.push(await bareNode());
}
console.log(
  `\nResident memory, medians: the package with two servers, ${restMs / 1000} s after its first call, ${middle(resident.gateway).toFixed(0)} MB; a bare node ${middle(resident.bare).toFixed(0)} MB`,
);
rmSync(folder, { recursive: true });
