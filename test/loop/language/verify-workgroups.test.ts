import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { accepts, refuses } from './bodies.js';

/** Workgroups of 64 with 64 floats. */
const groups = (body: string): string => `workgroups g, l in n of 64(m: f32[64]) { ${body} }`;

describe('problemOfWorkgroups', () => {
  it('accepts barriers where all invocations arrive', () => {
    accepts(groups('m[l] = x[g * 64 + l] workgroup_barrier o[g * 64 + l] = m[63 - l]'));
    accepts(groups('for i in 0..n { m[l] = x[i] workgroup_barrier o[g * 64 + l] = m[0] workgroup_barrier }')); // prettier-ignore
    accepts(groups('let i = g while (i < n) { workgroup_barrier i = i + 64 }'));
    accepts(groups('if (n > g) { workgroup_barrier }'));
    accepts(groups('if (l == 0) { o[g] = 1.0 } own[0] = 1.0'));
    accepts('workgroups g, l in 1 of 64() { o[l] = 1.0 }');
    accepts('if (n > 0) { workgroups g, l in n of 1(m: f32[1]) { m[0] = 1.0 o[g] = m[0] } }');
  });

  it('refuses barriers in control flow that invocations or memory decide', () => {
    const problem = /not all invocations arrive/;
    refuses(groups('if (l < 3) { workgroup_barrier }'), problem);
    refuses(groups('for i in 0..l { workgroup_barrier }'), problem);
    refuses(groups('for i in 0..i32(x[0]) { workgroup_barrier }'), problem);
    refuses(groups('let a = l * 2 if (a < n) { workgroup_barrier }'), problem);
    refuses(groups('let a = 0 if (l < 3) { a = 1 } if (a < n) { workgroup_barrier }'), problem);
    refuses(groups('let a = 0 for i in 0..l { a = a + 1 } while (a < n) { workgroup_barrier }'), problem); // prettier-ignore
    refuses(groups('let a = i32(m[0]) if (n > 0) { if (a < n) { workgroup_barrier } }'), problem);
  });

  it('refuses barriers outside of workgroups', () => {
    refuses('workgroup_barrier', /outside of workgroups/);
    refuses(`workgroup_barrier ${groups('o[g * 64 + l] = 1.0')}`, /outside of workgroups/);
    refuses('parallel a..b in 0..n { workgroup_barrier o[a] = 1.0 }', /outside of workgroups/);
  });

  it('refuses places that several store to', () => {
    refuses(groups('o[g] = 1.0'), /all invocations of a workgroup store to one place of o/);
    refuses(groups('m[3] = 1.0'), /all invocations of a workgroup store to one place of m/);
    refuses(groups('o[l] = 1.0'), /all workgroups store to one place of o/);
    refuses(`${groups('o[g * 64 + l] = 1.0')} o[0] = 1.0`, /outside of its workgroups/);
  });

  it('refuses what is carried from one group to the next, calls and barriers of teams', () => {
    refuses(`let sum = 0.0 ${groups('sum = sum + 1.0')}`, /sum is assigned in workgroups/);
    refuses(groups('call other(address)'), /a call in workgroups/);
    refuses(groups('barrier(meeting, l, n)'), /a barrier in workgroups/);
  });

  it('refuses workgroups in loops, beside ranges and beside others', () => {
    const stores = groups('o[g * 64 + l] = 1.0');
    refuses(`for i in 0..n { ${stores} }`, /in a loop/);
    refuses(`${stores} ${stores}`, /several statements/);
    refuses(groups(stores.replaceAll('m:', 'm2:')), /several statements/);
    refuses(`parallel a..b in 0..n { o[a] = 1.0 } ${stores}`, /both ranges and workgroups/);
    refuses(`parallel a..b in 0..n { ${stores} }`, /workgroups in a parallel range/);
  });

  it('refuses sizes that devices may not have', () => {
    const sized = (size: number, memory: string): string =>
      `workgroups g, l in n of ${size}(${memory}) { }`;
    accepts(sized(256, 'a: f32[4096]'));
    accepts(sized(256, 'a: f32[2048], b: f64[1024]'));
    refuses(sized(257, ''), /workgroups of 257/);
    refuses(sized(64, 'a: f32[4096], b: i32[1]'), /16388 bytes/);
    refuses(sized(64, 'a: f64[2049]'), /16392 bytes/);
    refuses(sized(64, 'a: f32[0]'), /a of 0 elements/);
    refuses(sized(64, 'a: u8[64]'), /a is no memory for a workgroup/);
  });

  it('knows numbers and memory of a group inside of it only', () => {
    assert.throws(() => accepts(`${groups('o[g * 64 + l] = 1.0')} own[0] = f32(g)`));
    assert.throws(() => accepts(`${groups('o[g * 64 + l] = 1.0')} own[0] = m[0]`));
    assert.throws(() => accepts(groups('g = 1')));
  });
});
