/**
 * Prepares an embedding model for `searchModel`: fetches its files if they are at an address, checks them, installs the runtime beside them, and lets the model
 * read a sentence.
 */
import { execFile } from 'node:child_process';
import { copyFileSync, createWriteStream, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { CommandProblem } from '@omnibus/client';
import { openModel, tokenizerPackage, writeManifest, type Manifest } from '@omnibus/search';
import { answerEither, runCommand } from '../output/outcome.ts';

export interface SearchModelOptions {
  readonly into?: string;
  readonly sha256?: string;
  readonly runtime: Manifest['runtime'];
  readonly json?: boolean;
}

/** The versions that this version was tried with. */
const versions = { 'onnxruntime-node': '1.30.0', 'onnxruntime-web': '1.30.0', [tokenizerPackage]: '0.2.0' };
/** A file of a model, the places where it may be, and whether a model needs it. */
const files = [
  { name: 'model.onnx', places: ['onnx/model.onnx', 'model.onnx'], isNeeded: true },
  { name: 'tokenizer.json', places: ['tokenizer.json'], isNeeded: true },
  { name: '1_Pooling/config.json', places: ['1_Pooling/config.json'], isNeeded: false },
  { name: 'sentence_bert_config.json', places: ['sentence_bert_config.json'], isNeeded: false },
] as const;
/** Bytes of one file. */
const maxBytes = 2 * 1024 ** 3;
const tryMs = 120_000;

export function addSearchModel(source: string, options: SearchModelOptions): Promise<void> {
  return runCommand(options.json, async () => {
    const isAddress = /^https?:\/\//.test(source);
    const folder = resolve(isAddress ? (options.into ?? 'search-model') : source);
    if (isAddress) await fetchFiles(source, folder);
    else findFiles(folder);
    await install(folder, options.runtime);
    const { files: sums } = await writeManifest(folder, options.runtime, options.sha256).catch((error: unknown) => {
      throw new CommandProblem('other', (error as Error).message);
    });
    const { numbers, ms } = await tried(folder);
    answerEither(
      options.json,
      { folder, sha256: sums['model.onnx'], numbers, ms },
      `${folder}: the model gives ${numbers} numbers for a text, in ${ms} ms here\nSHA-256 of model.onnx: ${sums['model.onnx']}\nUse it with these lines of the configuration:\n\nsearchModel:\n  folder: ${folder}\n`,
    );
  });
}

function findFiles(folder: string): void {
  for (const { name, places, isNeeded } of files) {
    if (existsSync(join(folder, name))) continue;
    const place = places.find((each) => existsSync(join(folder, each)));
    if (place !== undefined) copyFileSync(join(folder, place), join(folder, name));
    else if (isNeeded)
      throw new CommandProblem('usage', `${folder} has no ${name}`, {
        advice: 'Give a folder with model.onnx and tokenizer.json of a sentence-transformer, or the address of one.',
      });
  }
}

async function fetchFiles(address: string, folder: string): Promise<void> {
  mkdirSync(join(folder, '1_Pooling'), { recursive: true });
  for (const { name, places, isNeeded } of files) {
    let problem = '';
    for (const place of places) {
      problem = (await fetchFile(`${address.replace(/\/$/, '')}/${place}`, join(folder, name))) ?? '';
      if (problem === '') break;
    }
    if (problem !== '' && isNeeded)
      throw new CommandProblem('other', `${name} could not be fetched: ${problem}`, {
        advice:
          'Without a network, bring model.onnx and tokenizer.json on another way, and run: omnibus search-model add FOLDER',
      });
  }
}

/** @returns why a file could not be fetched. */
async function fetchFile(address: string, file: string): Promise<string | undefined> {
  const part = `${file}.part`;
  try {
    const answer = await fetch(address);
    if (!answer.ok || answer.body === null) {
      await answer.body?.cancel();
      return `${address} answers ${answer.status}`;
    }
    let bytes = 0;
    await pipeline(
      Readable.fromWeb(answer.body),
      async function* (parts: AsyncIterable<Uint8Array>) {
        for await (const each of parts) {
          bytes += each.byteLength;
          if (bytes > maxBytes) throw new Error(`it has more than ${maxBytes} bytes`);
          yield each;
        }
      },
      createWriteStream(part),
    );
    renameSync(part, file);
    return undefined;
  } catch (error) {
    rmSync(part, { force: true });
    const { message, cause } = error as Error;
    return `${address}: ${cause instanceof Error && cause.message !== '' ? cause.message : message}`;
  }
}

/** Installs the runtime and the tokenizer beside the model with npm, if they are not there. No script of a package runs. */
async function install(folder: string, runtime: Manifest['runtime']): Promise<void> {
  const { resolve: find } = createRequire(join(folder, 'model.onnx'));
  const missing = ([runtime, tokenizerPackage] as const).filter((name) => {
    try {
      find(name);
      return false;
    } catch {
      return true;
    }
  });
  if (missing.length === 0) return;
  const wanted = missing.map((name) => `${name}@${versions[name]}`);
  const npm = ['install', '--prefix', folder, '--no-save', '--ignore-scripts', '--no-audit', '--no-fund', ...wanted];
  try {
    // On Windows npm is a script, which only a shell runs.
    await promisify(execFile)('npm', npm, { shell: process.platform === 'win32' });
  } catch (error) {
    throw new CommandProblem(
      'other',
      `npm could not install ${wanted.join(' and ')}: ${(error as Error).message.split('\n').slice(0, 3).join(' ')}`,
      {
        advice:
          'Without a network, run this command where there is one, on the same kind of machine, and copy the folder.',
      },
    );
  }
}

async function tried(folder: string): Promise<{ readonly numbers: number; readonly ms: number }> {
  const model = await openModel({ folder });
  try {
    const embed = async (): Promise<number> => {
      const [vector] = await model.embed(['Sends a message to a person.'], AbortSignal.timeout(tryMs));
      return vector?.values.length ?? 0;
    };
    await embed();
    const began = performance.now();
    const numbers = await embed();
    return { numbers, ms: Math.round(performance.now() - began) };
  } catch (error) {
    throw new CommandProblem('other', `the model cannot be used: ${(error as Error).message}`, {
      advice:
        'Give a sentence-transformer in the form of ONNX. On a machine for which onnxruntime-node has no program, add --runtime onnxruntime-web.',
    });
  } finally {
    await model.close();
  }
}
