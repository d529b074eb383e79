/**
 * A bound for the work of checking one value. A compiled schema cannot be interrupted, and one of a few hundred bytes can take longer than
 * a client waits: alternatives that refer back to themselves double the work with every level of a document. So every call of a part and
 * every turn of a loop in the compiled code is counted, and the check gives up when its share is used up.
 */

/** Thrown inside the compiled code. */
export class BudgetExhausted extends Error {}

/** Steps of all values of one check, each at most as dear as the schema is large: a tenth of a second at the worst. */
const maxWork = 4_000_000;
/** Arrays, objects and values of a schema. Real tools have a few hundred. */
const maxSchemaValues = 20_000;
const maxSchemaDepth = 100;

/** The budget that the compiled code counts down. */
export interface Budget {
  left: number;
  readonly exhausted: BudgetExhausted;
}

/** @returns how many steps a check may take, or why the schema is too large for any. */
export function stepsOf(schema: unknown): number | string {
  let values = 0;
  const open: { readonly value: unknown; readonly depth: number }[] = [{ value: schema, depth: 0 }];
  for (let each = open.pop(); each !== undefined; each = open.pop()) {
    values += 1;
    if (values > maxSchemaValues) return `it holds more than ${maxSchemaValues} values`;
    if (each.depth > maxSchemaDepth) return `it nests deeper than ${maxSchemaDepth}`;
    if (typeof each.value !== 'object' || each.value === null) continue;
    for (const value of Object.values(each.value)) open.push({ value, depth: each.depth + 1 });
  }
  return Math.ceil(maxWork / values);
}

/**
 * Puts the counting into what Ajv generates, where its validator is called `self`. References are functions of their own, so whatever
 * recurs passes here.
 */
export function counted(code: string): string {
  const step = 'if(--self.budget.left<0)throw self.budget.exhausted;';
  return code
    .replaceAll(/function validate\d+\(data, \{.*?\}=\{\}\)\{/g, (head) => `${head}${step}`)
    .replaceAll(/\bfor\((?:let|const|var) [^{]*\{/g, (head) => `${head}${step}`);
}
