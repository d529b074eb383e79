/** The command that prepares an embedding model. */
import { Option, type Command } from 'commander';
import { runtimes } from '@omnibus/search';
import { loaded } from './loaded.ts';
import { shared } from './shared-options.ts';

export function addSearchModel(program: Command): void {
  program
    .command('search-model')
    .description('prepare a model that ranks tools by meaning (docs/how-to/few-tools.md)')
    .command('add')
    .description(
      'check a model, install its runtime beside it with npm, and try it; needs a network unless all is there',
    )
    .argument('<source>', 'folder with model.onnx and tokenizer.json of a sentence-transformer, or the address of one')
    .option('--into <folder>', 'folder for a model from an address (default: search-model)')
    .option('--sha256 <digits>', 'the SHA-256 that model.onnx must have')
    .addOption(new Option('--runtime <name>', 'package that runs the model').choices(runtimes).default(runtimes[0]))
    .option(...shared.json)
    .action(loaded(async () => (await import('../commands/search-model.ts')).addSearchModel));
}
