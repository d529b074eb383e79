/**
 * Measures the throughput of one NATS server on this machine, for messages and for storage: `node scripts/nats-throughput.mjs`. Publishers send prepared
 * messages as fast as subscribers receive them, and subscribers only count bytes. Both implement just as much of the NATS protocol as that needs, so that
 * mainly NATS is measured.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';
import { freePort } from './measured-gateway.mjs';

/** The average message of a call, which has 1,514 bytes in five messages. */
const bodyBytes = 300;
const seconds = 3;

const greeted = async (port) => {
  const socket = connect(port, '127.0.0.1');
  socket.setNoDelay(true);
  await once(socket, 'data');
  socket.write('CONNECT {"verbose":false,"pedantic":false}\r\nPING\r\n');
  await once(socket, 'data');
  return socket;
};

/** Bound on messages in transit, since NATS disconnects a subscriber that is too slow. */
const mostOnTheirWay = 20_000;

if (!isMainThread && workerData?.isPair === true) {
  const { port, subject } = workerData;
  const [to, from] = [await greeted(port), await greeted(port)];
  const perMessage = `MSG ${subject} 1 ${bodyBytes}\r\n`.length + bodyBytes + 2;
  from.write(`SUB ${subject} 1\r\nPING\r\n`);
  await once(from, 'data');
  const count = { heard: 0, said: 0 };
  from.on('data', (chunk) => {
    count.heard += chunk.length / perMessage;
  });
  const many = Buffer.from(`PUB ${subject} ${bodyBytes}\r\n${'x'.repeat(bodyBytes)}\r\n`.repeat(200));
  const began = performance.now();
  while (performance.now() - began < seconds * 1_000) {
    while (count.said - count.heard > mostOnTheirWay) await once(from, 'data');
    count.said += 200;
    if (!to.write(many)) await once(to, 'drain');
    else await new Promise((resume) => setImmediate(resume));
  }
  while (count.said - count.heard > 0.5) await once(from, 'data');
  parentPort.postMessage(count.said / ((performance.now() - began) / 1_000));
  for (const socket of [to, from]) socket.destroy();
}

/** Messages a second from publishers to one subscriber each. */
async function passed(port, pairs) {
  const rates = await Promise.all(
    Array.from({ length: pairs }, async (_, index) => {
      const worker = new Worker(fileURLToPath(import.meta.url), {
        workerData: { isPair: true, port, subject: `t.${index}` },
      });
      const [rate] = await once(worker, 'message');
      await worker.terminate();
      return rate;
    }),
  );
  return Math.round(rates.reduce((sum, rate) => sum + rate, 0));
}

/** Writes a second to the stream of a bucket, in a file on one node, with a number of writes in transit. */
async function stored(port, inFlight) {
  const socket = await greeted(port);
  socket.write('SUB reply 1\r\n');
  const ask = async (subject, body) => {
    socket.write(`PUB ${subject} reply ${Buffer.byteLength(body)}\r\n${body}\r\n`);
    await once(socket, 'data');
  };
  await ask(
    '$JS.API.STREAM.CREATE.KV_measured',
    JSON.stringify({
      name: 'KV_measured',
      subjects: ['$KV.measured.>'],
      max_msgs_per_subject: 1,
      storage: 'file',
      num_replicas: 1,
    }),
  );
  let answered = 0;
  let said = 0;
  const put = () => {
    said += 1;
    socket.write(`PUB $KV.measured.k${said % 10_000} reply ${bodyBytes}\r\n${'x'.repeat(bodyBytes)}\r\n`);
  };
  const until = performance.now() + seconds * 1_000;
  const done = Promise.withResolvers();
  socket.on('data', (chunk) => {
    const count = chunk.toString('latin1').split('"stream"').length - 1;
    answered += count;
    if (performance.now() < until) for (let index = 0; index < count; index += 1) put();
    else done.resolve();
  });
  for (let index = 0; index < inFlight; index += 1) put();
  await done.promise;
  socket.destroy();
  return Math.round(answered / seconds);
}

export async function natsThroughput() {
  const folder = mkdtempSync(join(tmpdir(), 'omnibus-throughput-'));
  const port = await freePort();
  const nats = spawn('nats-server', ['-a', '127.0.0.1', '-p', String(port), '-js', '-sd', folder], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  for await (const chunk of nats.stderr) if (chunk.toString().includes('Server is ready')) break;
  const result = {
    'messages of 300 bytes a second, one publisher and subscriber': await passed(port, 1),
    'two of each': await passed(port, 2),
    'writes a second into a bucket in a file, one at a time': await stored(port, 1),
    '64 on their way': await stored(port, 64),
  };
  nats.kill('SIGKILL');
  await once(nats, 'exit');
  rmSync(folder, { recursive: true, force: true });
  return result;
}

if (isMainThread && process.argv[1] === fileURLToPath(import.meta.url))
  console.log(JSON.stringify(await natsThroughput(), undefined, 2));
