// The page speaks to the server through the same client that others use.
export * from '../../../clients/typescript/src/index.ts';
