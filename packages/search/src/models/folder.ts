/** A folder with an embedding model: `model.onnx`, `tokenizer.json`, the runtime in `node_modules`, and a manifest with checksums that `omnibus search-model add` writes. */
import { createHash } from 'node:crypto';
import { createReadStream, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';

/** Packages that run a model, the fastest first. Both have the interface of `onnxruntime-common`. */
export const runtimes = ['onnxruntime-node', 'onnxruntime-web'] as const;

/** The package that splits texts into tokens. */
export const tokenizerPackage = '@huggingface/tokenizers';

export interface Manifest {
  readonly format: 1;
  /** SHA-256 in hexadecimal digits. */
  readonly files: { readonly 'model.onnx': string; readonly 'tokenizer.json': string };
  readonly runtime: (typeof runtimes)[number];
  /** How the vectors of the tokens become one. */
  readonly pooling: 'mean' | 'first';
  /** Most tokens of a text; the model does not read more. */
  readonly maxTokens: number;
}

const manifestFile = 'omnibus-model.json';
const modelFiles = ['model.onnx', 'tokenizer.json'] as const;
/** Bound on the tokens of one text, whatever the model takes: their cost grows with the square. */
const mostTokens = 512;
const usualTokens = 256;

/**
 * @returns the manifest of a prepared folder.
 * @throws {Error} if it has none.
 */
export function manifestOf(folder: string): Manifest {
  let text: string;
  try {
    text = readFileSync(join(folder, manifestFile), 'utf8');
  } catch {
    throw new Error(`${folder} has no prepared model; run: omnibus search-model add ${folder}`);
  }
  const manifest = parsed(text) as Partial<Manifest> | undefined;
  if (
    manifest?.format !== 1 ||
    !runtimes.some((each) => each === manifest.runtime) ||
    typeof manifest.maxTokens !== 'number' ||
    !modelFiles.every((file) => typeof manifest.files?.[file] === 'string')
  )
    throw new Error(
      `${join(folder, manifestFile)} is of another version or damaged; run: omnibus search-model add ${folder}`,
    );
  return manifest as Manifest;
}

/** Writes the manifest of a folder from its files. @param sha256 that `model.onnx` must have. @throws {Error} if it has another one, or a file is missing. */
export async function writeManifest(
  folder: string,
  runtime: Manifest['runtime'],
  sha256: string | undefined,
): Promise<Manifest> {
  const [model, tokenizer] = await Promise.all(modelFiles.map((file) => digestOf(join(folder, file))));
  if (sha256 !== undefined && sha256.toLowerCase() !== model)
    throw new Error(`model.onnx has the SHA-256 ${model}, and not ${sha256}: it is another model, or was damaged`);
  const pooling = json(join(folder, '1_Pooling/config.json'));
  const sentence = json(join(folder, 'sentence_bert_config.json'));
  const given = sentence['max_seq_length'];
  const manifest: Manifest = {
    format: 1,
    files: { 'model.onnx': model as string, 'tokenizer.json': tokenizer as string },
    runtime,
    pooling: pooling['pooling_mode_cls_token'] === true ? 'first' : 'mean',
    maxTokens: Math.min(typeof given === 'number' && given > 0 ? given : usualTokens, mostTokens),
  };
  writeFileSync(join(folder, manifestFile), `${JSON.stringify(manifest, null, 2)}\n`);
  return manifest;
}

/** @throws {Error} if a file of a model is not the one of the manifest. */
export async function checkFiles(folder: string, { files }: Manifest): Promise<void> {
  for (const file of modelFiles)
    if ((await digestOf(join(folder, file))) !== files[file])
      throw new Error(`${join(folder, file)} was changed since it was added; run: omnibus search-model add ${folder}`);
}

/** The SHA-256 of a file. */
async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

function json(path: string): Readonly<Record<string, unknown>> {
  try {
    return (parsed(readFileSync(path, 'utf8')) ?? {}) as Readonly<Record<string, unknown>>;
  } catch {
    return {};
  }
}

function parsed(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
