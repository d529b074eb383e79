/** An embedding model behind an address that the operator chose, in the form of OpenAI's `/v1/embeddings`. Redirects are not followed, and answers have a bound. */
import { createHash } from 'node:crypto';
import { packed, type PackedVector } from '../meaning.ts';
import type { EmbeddingModel, ModelSettings } from './embedding-model.ts';

const maxBatch = 32;
/** Bytes of an answer: 32 vectors of 4,096 numbers with 20 characters each, and some room. */
const maxAnswerBytes = 4 * 1024 * 1024;
const maxDimensions = 4_096;

/** @param settings `url`: the endpoint, with or without `/embeddings` at its end. */
export function endpointModel(settings: ModelSettings & { readonly url: string }): EmbeddingModel {
  const { url, name = '', headers = {}, dimensions } = settings;
  const address = new URL(url);
  if (!address.pathname.endsWith('/embeddings')) address.pathname = `${address.pathname.replace(/\/$/, '')}/embeddings`;
  const closing = new AbortController();
  return {
    id: createHash('sha256')
      .update(JSON.stringify([address.href, name, dimensions ?? 0]))
      .digest('base64url'),
    batch: maxBatch,
    async embed(texts, signal) {
      const answer = await fetch(address, {
        method: 'POST',
        redirect: 'error',
        signal: AbortSignal.any([signal, closing.signal]),
        headers: { ...headers, 'content-type': 'application/json', accept: 'application/json' },
        body: JSON.stringify({
          ...(name === '' ? {} : { model: name }),
          input: texts,
          encoding_format: 'float',
          ...(dimensions === undefined ? {} : { dimensions }),
        }),
      }).catch((error: unknown) => {
        throw new Error(`${address.origin}: ${reasonOf(error)}`, { cause: error });
      });
      if (answer.status !== 200) {
        await answer.body?.cancel();
        throw new Error(`${address.origin} answers ${answer.status}`);
      }
      return vectorsOf(await jsonOf(answer, address.origin), texts.length, address.origin);
    },
    close: () => {
      closing.abort(new Error('the model is closed'));
      return Promise.resolve();
    },
  };
}

/** The body of an answer, which is not read further than its bound. */
async function jsonOf(answer: Response, origin: string): Promise<unknown> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of answer.body ?? []) {
    bytes += part.byteLength;
    if (bytes > maxAnswerBytes) throw new Error(`the answer of ${origin} has more than ${maxAnswerBytes} bytes`);
    parts.push(part);
  }
  try {
    return JSON.parse(Buffer.concat(parts).toString('utf8'));
  } catch {
    throw new Error(`the answer of ${origin} is no JSON`);
  }
}

/** @param count of the texts. */
function vectorsOf(answer: unknown, count: number, origin: string): readonly PackedVector[] {
  const { data } = (answer ?? {}) as { readonly data?: unknown };
  if (!Array.isArray(data) || data.length !== count)
    throw new Error(`the answer of ${origin} does not have ${count} vectors in "data"`);
  const vectors: (PackedVector | undefined)[] = Array.from({ length: count });
  (data as unknown[]).forEach((each, at) => {
    const { embedding, index = at } = (each ?? {}) as { readonly embedding?: unknown; readonly index?: unknown };
    if (isVector(embedding) && typeof index === 'number' && index in vectors) vectors[index] = packed(embedding);
  });
  const [size] = vectors.map((vector) => vector?.values.length);
  if (!vectors.every((vector): vector is PackedVector => vector !== undefined && vector.values.length === size))
    throw new Error(`the answer of ${origin} has a vector that is none`);
  return vectors;
}

function isVector(value: unknown): value is readonly number[] {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value.length <= maxDimensions &&
    value.every((each) => typeof each === 'number')
  );
}

function reasonOf(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error && cause.message !== '' ? cause.message : message;
}
