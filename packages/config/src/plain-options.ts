/** Options of which only the description differs. */
import { z } from 'zod';

export const nonEmpty = z.string().min(1);
export const offByDefault = z.boolean().default(false);
export const onByDefault = z.boolean().default(true);
