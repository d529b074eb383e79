/**
 * A rule for oxlint: lists of MCP methods belong into `packages/protocol/src/method-table.ts`. A list is an array, a record, a union of types, a chain of
 * comparisons or one branch of a `switch` with three methods or more: such a set has a common property, which should be a column of that table. A
 * `switch` with separate code for each method serves these methods, and is not a list.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const table = readFileSync(join(import.meta.dirname, '../../packages/protocol/src/method-table.ts'), 'utf8');
const methods = new Set([...table.matchAll(/^ {2}'?([\w/]+)'?: \{/gm)].map(([, method]) => method));
if (methods.size < 20) throw new Error('scripts/lint/method-lists.mjs finds no methods in method-table.ts');

const maxListed = 2;
const isMethod = (node) => node?.type === 'Literal' && methods.has(node.value);
const report = (context, node, count) => {
  if (count > maxListed)
    context.report({
      node,
      message: `a list of ${count} methods: make it a column of packages/protocol/src/method-table.ts`,
    });
};
/** Counts the methods in a chain of comparisons that is joined by `||` or `&&`. */
const compared = (node) =>
  node.type === 'LogicalExpression'
    ? compared(node.left) + compared(node.right)
    : node.type === 'BinaryExpression' &&
        /^[!=]==$/.test(node.operator) &&
        (isMethod(node.right) || isMethod(node.left))
      ? 1
      : 0;

const rule = {
  create: (context) => ({
    ArrayExpression: (node) => report(context, node, node.elements.filter(isMethod).length),
    ObjectExpression: (node) => report(context, node, node.properties.filter(({ key }) => isMethod(key)).length),
    TSUnionType: (node) =>
      report(
        context,
        node,
        node.types.filter(({ type, literal }) => type === 'TSLiteralType' && isMethod(literal)).length,
      ),
    LogicalExpression: (node) => {
      if (node.parent.type !== 'LogicalExpression') report(context, node, compared(node));
    },
    SwitchStatement: (node) => {
      let together = 0;
      for (const { test, consequent } of node.cases) {
        together += isMethod(test) ? 1 : 0;
        if (consequent.length === 0) continue;
        report(context, node, together);
        together = 0;
      }
    },
  }),
};

export default { meta: { name: 'omnibus' }, rules: { 'one-list-of-methods': rule } };
