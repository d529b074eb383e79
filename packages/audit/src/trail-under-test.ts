/** An audit with sinks that a test controls. */
import { Verifier, type VerifyResult } from './verify/verify.ts';
import type { Chain } from './chain.ts';
import { Members } from './members.ts';
import type { AuditEvent } from './event.ts';
import type { Batch } from './lines.ts';
import type { Sink } from './sink.ts';
import { AuditTrail, type TrailOptions } from './trail.ts';

export class SinkUnderTest implements Sink {
  readonly name: string;
  readonly batch = { lines: 100, bytes: 256 * 1_024 } as const;
  readonly lines: string[] = [];
  isDown = false;
  /** Writes that wait for it. */
  #held: (() => void)[] | undefined;

  constructor(name = 'test') {
    this.name = name;
  }

  async write(lines: Batch): Promise<void> {
    const texts = lines.texts();
    if (this.#held !== undefined) await new Promise<void>((resolve) => void this.#held?.push(resolve));
    if (this.isDown) throw new Error('the sink is down');
    this.lines.push(...texts);
  }

  /** Takes nothing until it is let go. */
  hold(): void {
    this.#held = [];
  }

  letGo(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const go of held) go();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  get records(): readonly Readonly<Record<string, unknown>>[] {
    return this.lines.map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
  }
}

/** A sink that can sync, as a file does. */
export class SyncedSinkUnderTest extends SinkUnderTest {
  /** The number of lines that it had at each sync. */
  readonly synced: number[] = [];

  sync(): Promise<void> {
    this.synced.push(this.lines.length);
    return Promise.resolve();
  }
}

export interface Counted {
  recorded: number;
  dropped: number;
  skipped: number;
  failed: number;
  recovered: number;
  unwritten: number;
}

export function trailUnderTest(
  sinks: TrailOptions['sinks'],
  more: Partial<TrailOptions> = {},
): { readonly trail: AuditTrail; readonly counted: Counted } {
  const counted: Counted = { recorded: 0, dropped: 0, skipped: 0, failed: 0, recovered: 0, unwritten: 0 };
  const trail = new AuditTrail({
    writer: 'session-under-test',
    calls: 'all',
    isStrict: false,
    confirmMs: 1_000,
    ring: 1_000,
    who: 'names',
    rules: [],
    sinks,
    software: { software: 'omnibus', version: '1.2.3' },
    observer: {
      recorded: (records) => void (counted.recorded += records),
      dropped: (records) => void (counted.dropped += records),
      skipped: (_sink, records) => void (counted.skipped += records),
      wrote: () => undefined,
      failed: () => void (counted.failed += 1),
      recovered: () => void (counted.recovered += 1),
      unwritten: () => void (counted.unwritten += 1),
      checkpointFailed: () => undefined,
      left: () => undefined,
    },
    ...more,
  });
  return { trail, counted };
}

export function callOf(number: number, more: Partial<AuditEvent> = {}): AuditEvent {
  return {
    name: 'mcp.call',
    weight: 'write',
    method: 'tools/call',
    target: `tool-${number}`,
    outcome: 'ok',
    args: { number },
    ...more,
  };
}

export function verify(lines: readonly string[]): VerifyResult {
  const verifier = new Verifier();
  for (const [index, line] of lines.entries()) verifier.add(line, `line ${index + 1}`);
  return verifier.finish([], undefined);
}

export function kindsOf({ findings }: VerifyResult): readonly string[] {
  return [...new Set(findings.map(({ kind }) => kind))].toSorted();
}

/** Adds a record to a chain. @param members as JSON, without braces. @returns its line. */
export function sealed(chain: Chain, members: string): string {
  const line = new Members();
  line.bytes(Buffer.from(`{${members}`));
  chain.seal(line);
  return line.written().toString();
}
