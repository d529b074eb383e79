/** A model in a folder, with a runtime of the test that crashes on demand. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { writeManifest } from './folder.ts';
import { openFolder } from './local.ts';

/** The first token of a text is its length; a text of one character ends the thread. */
const tokenizers = `exports.Tokenizer = class { encode(text) { return { ids: [text.length, 1] }; } };`;
const runtime = `
exports.env = { wasm: {} };
exports.Tensor = class { constructor(type, data, dims) { Object.assign(this, { data, dims }); } };
exports.InferenceSession = {
  create: async () => ({
    inputNames: ['input_ids'],
    outputNames: ['out'],
    run: ({ input_ids: { data, dims } }) => {
      if (data[0] !== 1n) return Promise.resolve({ out: { data: Float32Array.from(data, Number), dims: [...dims, 1] } });
      setImmediate(() => { throw new Error('the runtime crashes'); });
      return new Promise(() => undefined);
    },
  }),
};`;

let folder: string | undefined;
afterEach(async () => {
  if (folder !== undefined) await rm(folder, { recursive: true });
});

async function prepared(): Promise<string> {
  folder = await mkdtemp(join(tmpdir(), 'omnibus-model-'));
  const put = async (path: string, text: string): Promise<void> => {
    await mkdir(join(folder as string, path, '..'), { recursive: true });
    await writeFile(join(folder as string, path), text);
  };
  await put('model.onnx', 'none');
  await put('tokenizer.json', '{}');
  await put('node_modules/onnxruntime-node/index.js', runtime);
  await put('node_modules/@huggingface/tokenizers/index.js', tokenizers);
  await writeManifest(folder, 'onnxruntime-node', undefined);
  return folder;
}

it('a request right after a crash gets a thread of its own, which the end of the crashed one does not take away', async () => {
  const model = openFolder(await prepared());
  const signal = AbortSignal.timeout(30_000);
  for (let crash = 0; crash < 3; crash += 1) {
    await expect(model.embed(['x'], signal)).rejects.toThrow('the runtime crashes');
    expect(await model.embed(['some words', 'others'], signal)).toHaveLength(2);
  }
  await model.close();
});
