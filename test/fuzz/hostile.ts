/** The messages of a hostile server of this suite: some are correct, some nearly, and some not at all. */
import type { JsonObject } from '@omnibus/protocol';
import { Chooser, mangled, mutated } from './mutate.ts';
import { honestly, type Era } from './server.ts';

/** Number of messages for which a server keeps its degree of hostility; at times it is correct, so that its handshake succeeds. */
const episode = 30;

export class Hostile {
  readonly #seed: number;
  readonly era: Era;
  /** Number of messages that were sent. */
  said = 0;
  mutations = 0;

  constructor(seed: number, era: Era) {
    this.#seed = seed;
    this.era = era;
  }

  /** The choices for the next action. */
  next(): Chooser {
    this.said += 1;
    return new Chooser(this.#seed, this.said);
  }

  /** Whether the next action is a faulty one. */
  isNow(choose: Chooser, most = 1): boolean {
    const mood = new Chooser(this.#seed, -1 - Math.floor(this.said / episode)).of([0, 0, 0.03, 0.1, 0.3, 0.9]);
    return choose.chance(Math.min(mood, most));
  }

  /** The messages in answer to a message of the gateway. */
  answers(message: unknown): Buffer[] {
    return honestly(message, this.era).flatMap((each) => this.#twisted(each));
  }

  #twisted(message: JsonObject): Buffer[] {
    const choose = this.next();
    if (!this.isNow(choose)) return [Buffer.from(JSON.stringify(message))];
    this.mutations += 1;
    switch (choose.below(12)) {
      case 0:
        return [];
      case 1:
        return Array.from({ length: 2 + choose.below(20) }, () => Buffer.from(JSON.stringify(message)));
      case 2:
        return [Buffer.from(JSON.stringify(message).padEnd(200_000))];
      case 3:
        return [mangled(JSON.stringify(message), choose)];
      case 4:
        return [
          Buffer.from(`${'{"jsonrpc":"2.0","id":1,"result":'.repeat(1 + choose.below(3))}${'['.repeat(5_000)}`),
          Buffer.from(JSON.stringify(message)),
        ];
      case 5:
        return [Buffer.from(this.#unasked(choose)), Buffer.from(JSON.stringify(message))];
      case 6:
        return [Buffer.from(JSON.stringify(deepened(message)))];
      default:
        return [Buffer.from(mutated(message, choose))];
    }
  }

  /** A message that answers no request. */
  #unasked(choose: Chooser): string {
    const message = choose.of<JsonObject>([
      { method: 'notifications/tools/list_changed' },
      { method: 'notifications/resources/updated', params: { uri: 'fuzz://one' } },
      { method: 'notifications/progress', params: { progressToken: choose.below(50), progress: choose.below(9) } },
      { method: 'notifications/message', params: { level: 'error', data: 'x'.repeat(500) } },
      { method: 'notifications/cancelled', params: { requestId: choose.below(50) } },
      { id: choose.below(50), result: {} },
      { id: choose.below(50), error: { code: -32_000, message: 'no' } },
      { id: 'q', method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } },
      { id: 7, method: 'roots/list' },
      { id: 8, method: 'ping' },
      {
        id: 9,
        method: 'elicitation/create',
        params: { mode: 'url', url: 'javascript:alert(1)', elicitationId: 'e', message: 'm' },
      },
      { method: 'notifications/tasks/status', params: { taskId: 'one', status: 'completed' } },
    ]);
    return choose.chance(0.5)
      ? JSON.stringify({ jsonrpc: '2.0', ...message })
      : mutated({ jsonrpc: '2.0', ...message }, choose);
  }
}

function deepened(message: JsonObject): JsonObject {
  let deep: JsonObject = {};
  for (let level = 0; level < 90; level += 1) deep = { deep };
  return {
    ...message,
    result: {
      ...(message['result'] as JsonObject | undefined),
      tools: [{ name: 'deep', inputSchema: deep }],
      _meta: deep,
      content: [deep],
      structuredContent: deep,
    },
  };
}
