/** Programs that write other things on stdout than messages. */
import { expect, it } from 'vitest';
import type { SessionKey } from '@omnibus/protocol';
import { AdapterUnderTest } from '../adapter-under-test.ts';
import { messageAfterText } from './mending.ts';

const session = 'session one' as unknown as SessionKey;

/** Starts a program. @param write its code that writes an answer, `message`. */
function start(write: string, settings: object = {}): Promise<AdapterUnderTest> {
  const code = `
    const results = {
      initialize: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'odd', version: '1' } },
      'tools/list': { tools: [{ name: 'act', inputSchema: { type: 'object' } }] },
      'tools/call': { content: [] },
    };
    require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const { id, method } = JSON.parse(line);
      const message = { jsonrpc: '2.0', id, result: results[method] };
      const out = (text) => process.stdout.write(text);
      if (id !== undefined && message.result !== undefined) { ${write} }
    });`;
  return AdapterUnderTest.start(
    {},
    { url: undefined, command: process.execPath, args: ['-e', code], era: 'legacy', isolation: 'shared', ...settings },
  );
}

it.each([
  ['a progress bar', String.raw`out('50%\r' + JSON.stringify(message) + '\n')`],
  ['the name of a level', String.raw`out('DEBUG: {"a": 1} ' + JSON.stringify(message) + '\n')`],
  ['codes for colours on both sides', String.raw`out('\u001B[32m' + JSON.stringify(message) + '\u001B[0m\n')`],
])('an answer that follows %s on its line is read, and counted', async (_what, write) => {
  await using it = await start(write);
  await it.adapter.firstAttempt;
  expect([it.record.status, it.tools]).toEqual(['up', ['act']]);
  expect(await it.call(session, 'tools/call', { name: 'act' })).toMatchObject({ kind: 'result' });
  expect(it.repairs.rows.map(({ repair }) => repair)).toEqual(['text-before-message']);
});

it.each([
  ['pretty-printed JSON', String.raw`out(JSON.stringify(message, null, 2) + '\n')`, '{'],
  [
    'a framing with Content-Length',
    String.raw`out('Content-Length: 9\r\n\r\n' + JSON.stringify(message))`,
    'Content-Length: 9',
  ],
  ['its log as text', String.raw`out('INFO started with token=abcdef123456\n')`, 'INFO started'],
  ['its log as JSON', String.raw`out('{"level":"info"}\n')`, '"jsonrpc" must be "2.0"'],
])(
  'a program that writes %s on stdout has that as its problem at once, and in the answers to calls',
  async (_what, write, said) => {
    // It ends a moment later, so that the call has its answer.
    await using it = await start(`${write}; setTimeout(process.exit, 200)`, {
      connectTimeout: '30s',
      restart: { minDelay: '1m', maxDelay: '1m' },
    });
    const call = it.call(session, 'tools/call', { name: 'act' });
    const { problem = '' } = await it.records.untilSome(({ problem }) => problem?.includes('stdout') === true);
    expect(problem).toMatch(/^it is still connecting; its program wrote on stdout, which is for messages only/);
    expect(problem).toContain(said);
    expect(problem).not.toContain('abcdef123456');
    const answer = await call;
    expect(answer).toMatchObject({ kind: 'fault', fault: { reason: 'upstream.unavailable' } });
    expect(answer.kind === 'fault' && answer.fault.message).toContain(said);
  },
);

it('a request or an unknown notification after text on a line is the log of one that was received, and is not read', () => {
  const after = (message: object): unknown =>
    messageAfterText(Buffer.from(`received ${JSON.stringify({ jsonrpc: '2.0', ...message })}`))?.text;
  expect(after({ id: 1, method: 'tools/call' })).toBeUndefined();
  expect(after({ method: 'notifications/cancelled', params: { requestId: 1 } })).toBeUndefined();
  expect(after({ id: 1, result: {} })).toBe('received ');
  expect(after({ method: 'notifications/progress' })).toBe('received ');
});

it('an answer with bytes that are no UTF-8 is refused, with or without text before it', async () => {
  const bytes = (text: string): Buffer => Buffer.from(text, 'latin1');
  expect(messageAfterText(bytes('{"jsonrpc":"2.0","id":1,"result":{"a":"\xE9"}}'))).toBeUndefined();
  expect(messageAfterText(bytes('log {"jsonrpc":"2.0","id":1,"result":{"a":"\xE9"}}'))).toBeUndefined();
  expect(messageAfterText(bytes('\xE9 {"jsonrpc":"2.0","id":1,"result":{}}'))).toMatchObject({ text: '\xE9 ' });
  await using it = await start(String.raw`
    const odd = method === 'tools/call' ? { odd: '\xE9' } : {};
    out(Buffer.from(JSON.stringify({ ...message, ...odd }) + '\n', 'latin1'));`);
  await it.adapter.firstAttempt;
  expect(await it.call(session, 'tools/call', { name: 'act' })).toMatchObject({
    kind: 'fault',
    fault: { reason: 'upstream.invalid', message: expect.stringContaining('not UTF-8') as string },
  });
});

it.each([
  ['input', "process.stdin.destroy().once('close', () => { require('node:fs').closeSync(0); answer(); })"],
  ['output', "answer(); process.stdout.write = () => true; require('node:fs').closeSync(1)"],
])(
  'a program that closes its %s and runs on counts as ended, which its calls hear, and is started again',
  async (which, close) => {
    await using it = await start(
      String.raw`
    const answer = () => out(JSON.stringify(message) + '\n');
    if (JSON.parse(line).params?.name !== 'close') answer();
    else {
      setInterval(() => {}, 60_000);
      ${close};
    }`,
      { restart: { minDelay: '10ms', maxDelay: '10ms' } },
    );
    await it.adapter.firstAttempt;
    expect(await it.call(session, 'tools/call', { name: 'close' })).toMatchObject({ kind: 'result' });
    const faults: string[] = [];
    const isAnswered = async (): Promise<boolean> => {
      const answer = await it.call(session, 'tools/call', { name: 'act' });
      if (answer.kind === 'fault') faults.push(answer.fault.message);
      return answer.kind === 'result';
    };
    await expect.poll(isAnswered).toBe(true);
    expect(faults[0]).toContain(`closed its ${which}`);
  },
);

it('text of one caller that looks like the answer to the call of another is not read', async () => {
  await using it = await start(String.raw`
    const say = (text, to, result) => out(text + JSON.stringify({ jsonrpc: '2.0', id: to, result }) + '\n');
    const { name } = JSON.parse(line).params ?? {};
    if (name === 'wait') globalThis.waits = id;
    else if (name === 'note') {
      say('INFO saved: ', globalThis.waits, { content: [], forged: true });
      say('', globalThis.waits, { content: [] });
      say('', id, { content: [] });
    } else say('', id, message.result);`);
  await it.adapter.firstAttempt;
  const waits = it.call(session, 'tools/call', { name: 'wait' });
  const other = 'session two' as unknown as SessionKey;
  await it.call(other, 'tools/call', { name: 'note' });
  const answer = await waits;
  expect(answer.kind === 'result' && answer.result).toEqual({ content: [] });
});

it('a broken answer that names no request ends the only call at once, and a broken line of a log ends none', async () => {
  await using it = await start(String.raw`
    if (method !== 'tools/call') out(JSON.stringify(message) + '\n');
    else {
      out('INFO {"result":\n');
      if (JSON.parse(line).params.name === 'good') out(JSON.stringify(message) + '\n');
      else out('{"jsonrpc":"2.0","result":{"content":[\n');
    }`);
  await it.adapter.firstAttempt;
  expect(await it.call(session, 'tools/call', { name: 'good' })).toMatchObject({ kind: 'result' });
  const broken = await it.call(session, 'tools/call', { name: 'act' });
  expect(broken).toMatchObject({ kind: 'fault', fault: { reason: 'upstream.invalid' } });
  expect(broken.kind === 'fault' && broken.fault.message).toMatch(/wrote on stdout.*"content":\[/);
});

it('a call hears once that the program wrote no valid message, with its words only if no other call can have caused them', async () => {
  await using it = await start(String.raw`
    if (method !== 'tools/call') out(JSON.stringify(message) + '\n');
    else {
      const { name } = JSON.parse(line).params;
      out('of ' + name + '\nand more\n');
      (globalThis.held ??= []).push(message);
      if (name !== 'first') for (const each of globalThis.held.splice(0)) out(JSON.stringify(each) + '\n');
    }`);
  await it.adapter.firstAttempt;
  const doubts: string[] = [];
  const call = (each: SessionKey, name: string): Promise<unknown> =>
    it.call(each, 'tools/call', { name }, {}, (event) => {
      if (event.kind === 'doubt') doubts.push(event.problem);
    });
  await call(session, 'alone');
  expect(doubts.splice(0)).toEqual([expect.stringMatching(/^its program wrote on stdout.*: of alone$/)]);
  await Promise.all([call(session, 'first'), call('session two' as unknown as SessionKey, 'second')]);
  expect(doubts).toHaveLength(2);
  for (const doubt of doubts) expect(doubt).toMatch(/a log belongs on stderr\)$/);
});
