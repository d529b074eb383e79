/** Server-sent events, read with `fetch`, since an `EventSource` cannot send an `Authorization` header. */
import { ask } from './ask.ts';

export interface StreamEvent {
  readonly id: string | undefined;
  readonly kind: string;
  readonly data: unknown;
}

/** Calls `hear` with each event until the stream ends. @throws {ApiProblem} where it is refused; what `fetch` throws where it breaks. */
export async function follow(path: string, hear: (event: StreamEvent) => void, signal: AbortSignal): Promise<void> {
  const response = await ask(path, { signal });
  const reader = (response.body as ReadableStream<Uint8Array>)
    .pipeThrough(new TextDecoderStream() as unknown as TransformStream<Uint8Array, string>)
    .getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = `${rest}${value}`.split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const event = parse(block);
      if (event !== undefined) hear(event);
    }
  }
}

function parse(block: string): StreamEvent | undefined {
  const members = new Map<string, string>();
  for (const line of block.split('\n')) {
    const at = line.indexOf(':');
    if (at < 1) continue;
    const [name, text] = [line.slice(0, at), line.slice(at + 1).replace(/^ /, '')];
    members.set(name, members.has(name) ? `${members.get(name)}\n${text}` : text);
  }
  const data = members.get('data');
  return data === undefined
    ? undefined
    : { id: members.get('id'), kind: members.get('event') ?? 'message', data: JSON.parse(data) as unknown };
}
