/** The thread that runs a model in the form of ONNX, with the runtime and the tokenizer that are in the folder of the model. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { checkFiles, manifestOf, tokenizerPackage, type Manifest } from './folder.ts';

export interface ThreadRequest {
  readonly id: number;
  readonly texts: readonly string[];
}

/** `numbers`: the vectors one after another. */
export type ThreadAnswer =
  | { readonly id: number; readonly problem: string }
  | { readonly id: number; readonly problem?: undefined; readonly numbers: Float32Array; readonly count: number };

/** The used part of `onnxruntime-common`. */
interface Tensor {
  readonly data: Float32Array;
  readonly dims: readonly number[];
}
interface Runtime {
  readonly env: { readonly wasm: { numThreads?: number } };
  readonly Tensor: new (type: 'int64', data: BigInt64Array, dims: readonly number[]) => object;
  readonly InferenceSession: {
    create(
      model: Uint8Array,
      options: object,
    ): Promise<{
      readonly inputNames: readonly string[];
      readonly outputNames: readonly string[];
      run(feeds: Readonly<Record<string, object>>): Promise<Readonly<Record<string, Tensor>>>;
    }>;
  };
}
/** The used part of `@huggingface/tokenizers`. */
interface Tokenizers {
  readonly Tokenizer: new (
    tokenizer: object,
    config: object,
  ) => { encode(text: string): { readonly ids: readonly number[] } };
}

/** Characters of a text that can matter: a token of the texts of tools has about four. */
const maxText = 4_000;

type Embed = (texts: readonly string[]) => Promise<Float32Array>;

async function load(folder: string): Promise<Embed> {
  const manifest = manifestOf(folder);
  await checkFiles(folder, manifest);
  const require = createRequire(join(folder, 'model.onnx'));
  const runtime = require(manifest.runtime) as Runtime;
  const { Tokenizer } = require(tokenizerPackage) as Tokenizers;
  const json = (file: string): object => JSON.parse(readFileSync(join(folder, file), 'utf8')) as object;
  const tokenizer = new Tokenizer(json('tokenizer.json'), {});
  // One thread: the cores are for calls.
  runtime.env.wasm.numThreads = 1;
  const session = await runtime.InferenceSession.create(readFileSync(join(folder, 'model.onnx')), {
    intraOpNumThreads: 1,
    interOpNumThreads: 1,
  });
  const [output = ''] = session.outputNames;
  return async (texts) => {
    const ids = texts.map((text) => tokenizer.encode(text.slice(0, maxText)).ids.slice(0, manifest.maxTokens));
    const longest = Math.max(...ids.map(({ length }) => length), 1);
    const tensor = (valueOf: (id: number) => number): object => {
      const data = new BigInt64Array(ids.length * longest);
      ids.forEach((each, row) => each.forEach((id, at) => (data[row * longest + at] = BigInt(valueOf(id)))));
      return new runtime.Tensor('int64', data, [ids.length, longest]);
    };
    const inputs: Readonly<Record<string, () => object>> = {
      input_ids: () => tensor((id) => id),
      attention_mask: () => tensor(() => 1),
      token_type_ids: () => tensor(() => 0),
    };
    const feeds = Object.fromEntries(session.inputNames.map((name) => [name, inputs[name]?.() ?? unknown(name)]));
    const found = (await session.run(feeds))[output] as Tensor;
    return pooled(found, ids, longest, manifest.pooling);
  };
}

function unknown(name: string): never {
  throw new Error(`the model wants an input "${name}", which no sentence-transformer in the form of BERT has`);
}

/** One vector for each text. An output with two dimensions has them already. */
function pooled(
  { data, dims }: Tensor,
  ids: readonly (readonly number[])[],
  longest: number,
  pooling: Manifest['pooling'],
): Float32Array {
  if (dims.length === 2) return Float32Array.from(data);
  const size = dims.at(-1) as number;
  const vectors = new Float32Array(ids.length * size);
  ids.forEach((each, row) => {
    const tokens = pooling === 'first' ? 1 : each.length;
    for (let token = 0; token < tokens; token += 1)
      for (let at = 0; at < size; at += 1)
        vectors[row * size + at] =
          (vectors[row * size + at] as number) + (data[(row * longest + token) * size + at] as number) / tokens;
  });
  return vectors;
}

if (parentPort !== null) {
  const port = parentPort;
  const loaded = load(workerData as string);
  // Each request reports the failure; without a request there is none to report it to.
  loaded.catch(() => undefined);
  /** Requests are served one after another, in their order. */
  let last: Promise<void> = Promise.resolve();
  port.on('message', ({ id, texts }: ThreadRequest) => {
    last = last.then(async () => {
      try {
        const numbers = await (await loaded)(texts);
        port.postMessage({ id, numbers, count: texts.length } satisfies ThreadAnswer, [numbers.buffer as ArrayBuffer]);
      } catch (error) {
        port.postMessage({ id, problem: (error as Error).message } satisfies ThreadAnswer);
      }
    });
  });
}
