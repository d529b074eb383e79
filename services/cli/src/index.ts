export { commandTable } from './command-line/command-table.ts';
export { groups } from './command-line/groups.ts';
export { createProgram } from './command-line/program.ts';
export { unknownCommand } from './command-line/unknown-command.ts';
export type { Gateway, GatewayOptions, Membership } from './gateway.ts';
