/**
 * Finds output schemas of tools that clients cannot compile. The verdicts are cached by digest, since lists are read again and again. Between two schemas other
 * work of the process goes on.
 */
import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { formsToCompile } from '@omnibus/catalog';
import type { JsonObject } from '@omnibus/protocol';
import type { clientProblem } from '@omnibus/validation';

/** Bound on kept verdicts of one server. */
const maxKept = 5_000;
/** Schemas of one list that are not plain. Each takes some milliseconds, and up to a tenth of a second if its server means ill. */
const maxCompiled = 500;

export class OutputSchemas {
  readonly #verdicts = new Map<string, string | undefined>();
  /** Loaded with the first schema that must be compiled. */
  #compile: typeof clientProblem | undefined;

  /** Checks the schemas of one list. The answer is undefined where the schema is plain, else why clients cannot compile it, if they cannot. */
  ofOneList(): (schema: JsonObject) => Promise<string | undefined> | undefined {
    let compiled = 0;
    return (schema) => {
      const forms = formsToCompile(schema);
      if (forms.length === 0) return undefined;
      compiled += 1;
      return compiled > maxCompiled
        ? Promise.resolve(`more than ${maxCompiled} output schemas of the list would have to be compiled`)
        : this.#problem(forms);
    };
  }

  async #problem(forms: readonly JsonObject[]): Promise<string | undefined> {
    const digest = createHash('sha256').update(JSON.stringify(forms)).digest('base64');
    if (this.#verdicts.has(digest)) return this.#verdicts.get(digest);
    await setImmediate();
    this.#compile ??= (await import('@omnibus/validation')).clientProblem;
    let problem: string | undefined;
    for (const form of forms) problem ??= this.#compile(form);
    if (this.#verdicts.size >= maxKept) this.#verdicts.clear();
    this.#verdicts.set(digest, problem);
    return problem;
  }
}
