import { generateKeyPairSync, randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Chain } from '../chain.ts';
import { readCheckpointKey, type Checkpoint } from '../checkpoint.ts';
import { kindsOf, sealed, verify } from '../trail-under-test.ts';
import { sha256 } from '../sha256.ts';
import { Verifier, type VerifyResult } from './verify.ts';

/** Lines of a writer that ended. */
function linesOf(writer: string, records: number, tool = 'act'): string[] {
  const chain = new Chain(writer);
  return Array.from({ length: records }, (_, index) =>
    sealed(
      chain,
      `"time":"2026-11-22T00:00:00.000Z","event.name":"${index === records - 1 ? 'audit.closed' : 'mcp.call'}","omnibus.tool":"${tool}-${index}"`,
    ),
  );
}

const headOf = (lines: readonly string[], seq: number): string =>
  (JSON.parse(lines[seq - 1] as string) as { readonly hash: string }).hash;

function compare(
  lines: readonly string[],
  checkpoints: readonly Checkpoint[],
  key: ReturnType<typeof readCheckpointKey>,
): VerifyResult {
  const verifier = new Verifier();
  for (const [index, line] of lines.entries()) verifier.add(line, `line ${index + 1}`);
  return verifier.finish(checkpoints, key);
}

it('finds nothing wrong with what was written, also where writers take turns and a line came twice', () => {
  const [one, other] = [linesOf('one', 20), linesOf('other', 20)];
  const mixed = one.flatMap((line, index) => [line, other[index] as string]);
  expect(verify([...mixed, ...one.slice(5, 8)])).toMatchObject({ findings: [], writers: 2 });
});

it('finds every flipped byte, wherever it is', () => {
  const lines = linesOf('writer', 6);
  const text = lines.join('\n');
  fc.assert(
    fc.property(fc.nat(text.length - 1), fc.integer({ min: 1, max: 255 }), (at, flip) => {
      const bytes = Buffer.from(text);
      bytes[at] = (bytes[at] as number) ^ flip;
      const { findings } = verify(bytes.toString().split('\n'));
      expect(findings.some(({ weight }) => weight !== 'open')).toBe(true);
    }),
    { numRuns: 500 },
  );
});

it('names records that are not there, that stand elsewhere, and that are there in another form', () => {
  const lines = linesOf('writer', 10);
  expect(verify(lines.toSpliced(4, 1)).findings).toEqual([
    expect.objectContaining({ weight: 'harm', kind: 'missing', text: 'record 5 of writer is not there' }),
  ]);
  expect(verify(lines.slice(3)).findings).toEqual([
    expect.objectContaining({ kind: 'missing', text: 'records 1 to 3 of writer are not there' }),
  ]);
  expect(kindsOf(verify(lines.with(4, lines[6] as string).with(6, lines[4] as string)))).toEqual(['reordered']);
  expect(kindsOf(verify([...lines, linesOf('writer', 10, 'other')[4] as string]))).toEqual(['fork']);
  expect(kindsOf(verify(lines.with(4, linesOf('writer', 10, 'other')[4] as string)))).toEqual(['edited']);
});

it('says of a writer that never ended that it may lack its last quarter of a second', () => {
  const lines = linesOf('writer', 10).slice(0, -1);
  expect(verify(lines).findings).toEqual([
    expect.objectContaining({
      weight: 'open',
      kind: 'unclosed',
      text: expect.stringContaining('after record 9') as string,
    }),
  ]);
  const verifier = new Verifier();
  for (const line of lines) verifier.add(line, 'file');
  verifier.add('{"time":"2026', 'file:10', false);
  expect(kindsOf(verifier.finish([], undefined))).toEqual(['torn', 'unclosed']);
});

it('finds a cut tail, a rewritten chain and a missing writer by checkpoints of either kind of key', () => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const pem = (key: typeof privateKey, type: 'pkcs8' | 'spki'): string => key.export({ type, format: 'pem' }) as string;
  const secret = randomBytes(32).toString('base64');
  const keys = [
    [readCheckpointKey(pem(privateKey, 'pkcs8')), readCheckpointKey(pem(publicKey, 'spki'))],
    [readCheckpointKey(secret), readCheckpointKey(secret)],
  ] as const;
  for (const [signing, verifying] of keys) {
    const lines = linesOf('writer', 10);
    const at = (seq: number): Checkpoint =>
      signing.sign({ writer: 'writer', seq, hash: headOf(lines, seq) }, '2026-11-22T00:01:00.000Z');
    const checkpoint = at(8);
    expect(compare(lines, [checkpoint, at(10)], verifying).findings).toEqual([]);
    expect(kindsOf(compare(lines, [checkpoint], verifying))).toEqual(['unconfirmed']);
    expect(kindsOf(compare(lines.slice(0, 6), [checkpoint], verifying))).toEqual(['cut', 'unclosed']);
    expect(kindsOf(compare(linesOf('writer', 10, 'forged'), [checkpoint], verifying))).toEqual([
      'rewritten',
      'unconfirmed',
    ]);
    expect(kindsOf(compare([], [checkpoint], verifying))).toEqual(['lost']);
    expect(kindsOf(compare(lines, [{ ...checkpoint, seq: 7, hash: headOf(lines, 7) }], verifying))).toEqual([
      'forged',
      'unconfirmed',
    ]);
  }
});

it('takes it for what it is when old records were removed and that is on record', () => {
  const old = linesOf('old', 10);
  const chain = new Chain('new');
  const retired = sealed(
    chain,
    `"time":"2026-11-22T00:00:00.000Z","event.name":"audit.retired","omnibus.writer":"old","omnibus.seq":4,"omnibus.hash":"${headOf(old, 4)}"`,
  );
  const closed = sealed(chain, '"event.name":"audit.closed"');
  expect(verify([...old.slice(4), retired, closed]).findings).toEqual([
    expect.objectContaining({ weight: 'gap', kind: 'retired' }),
  ]);
  expect(kindsOf(verify([...old.slice(6), retired, closed]))).toEqual(['missing']);
});

it('a record that excuses the absence of others counts only where a signed checkpoint confirms it', () => {
  const key = readCheckpointKey(randomBytes(32).toString('base64'));
  const signed = (writer: string, seq: number, lines: readonly string[]): Checkpoint =>
    key.sign({ writer, seq, hash: headOf(lines, seq) }, '2026-11-22T00:01:00.000Z');
  const old = linesOf('old', 10);
  const oldCheckpoint = signed('old', 10, old);
  const excuse = (event: string): string[] => {
    const chain = new Chain('other');
    return [event, '"event.name":"audit.closed"'].map((members) => sealed(chain, members));
  };
  const retired = excuse(
    `"event.name":"audit.retired","omnibus.writer":"old","omnibus.seq":10,"omnibus.hash":"${headOf(old, 10)}"`,
  );
  // A whole chain, and its beginning.
  expect(kindsOf(compare(retired, [oldCheckpoint], key))).toEqual(['lost', 'unconfirmed']);
  expect(kindsOf(compare([...old.slice(4), ...retired], [oldCheckpoint], key))).toEqual(['missing', 'unconfirmed']);
  expect(compare(retired, [oldCheckpoint, signed('other', 2, retired)], key).findings).toEqual([]);
  // The end of a chain that claims to continue elsewhere, and of one that claims to have ended.
  const broken = excuse(
    `"event.name":"audit.opened","omnibus.break.writer":"old","omnibus.break.entry":1,"omnibus.after.writer":"old","omnibus.after.seq":6,"omnibus.after.hash":"${headOf(old, 6)}"`,
  );
  const cut = old.slice(0, 6);
  expect(kindsOf(compare([...cut, ...broken], [signed('old', 3, old)], key))).toEqual(['unclosed', 'unconfirmed']);
  expect(kindsOf(compare([...cut, ...broken], [oldCheckpoint, signed('other', 2, broken)], key))).toEqual(['cut']);
  expect(compare([...cut, ...broken], [signed('old', 3, old), signed('other', 1, broken)], key).findings).toEqual([
    expect.objectContaining({ kind: 'unconfirmed', writer: 'other' }),
  ]);
});

it('a record with an invented number is named, as fast as any other', () => {
  const lines = linesOf('writer', 10);
  const madeUp = (seq: number): string => {
    const body = `{"event.name":"mcp.call","omnibus.chain":{"writer":"writer","seq":${seq},"prev":"${headOf(lines, 10)}"}}`;
    return `${body.slice(0, -1)},"hash":"${sha256(body)}"}`;
  };
  for (const seq of [2 ** 32, Number.MAX_SAFE_INTEGER]) {
    expect(verify([...lines, madeUp(seq)]).findings).toContainEqual(
      expect.objectContaining({
        weight: 'harm',
        kind: 'missing',
        text: `records 11 to ${seq - 1} of writer are not there`,
      }),
    );
  }
  for (const seq of [0, -1]) expect(kindsOf(verify([...lines, madeUp(seq)]))).toEqual(['unreadable']);
});
