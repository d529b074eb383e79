/** The schema of a configuration with the checks that concern several options. */
import { checkAcross } from './across-options.ts';
import { shape } from './schema.ts';

export const configSchema = shape.superRefine(checkAcross);
