;; The two passes of an antialiased resize of RGB bytes, in fixed point, on 16-byte vectors.
;; Weights are 16-bit integers, w = round(weight * 2^bits); sums are 32-bit integers; results are rounded, shifted and
;; clamped to 0 … 255. Every row of weights is padded with zeros, so that reading past the last sample does no harm.
(module
  (memory (export "memory") 1)

  ;; One row of pixels: target[o] = Σ weights[o, t] * source[starts[o] + t], t in groups of four.
  ;;   source   bytes of the row, then padding for the reads past its end
  ;;   starts   [outputs] int32: byte offset of the first pixel
  ;;   weights  [outputs, groups * 4] int16
  ;;   target   [outputs, 3] bytes, then one byte of padding
  (func (export "columns")
    (param $source i32) (param $starts i32) (param $weights i32) (param $outputs i32) (param $groups i32)
    (param $target i32) (param $bits i32)
    (local $end i32) (local $at i32) (local $group i32) (local $pixels v128) (local $sum v128) (local $rounding v128)
    (local $first v128) (local $second v128)
    ;; Places of the bytes of red, green and blue of two pixels each, as 16-bit pairs; 128 makes a zero.
    (local.set $first (v128.const i8x16 0 128 3 128 1 128 4 128 2 128 5 128 128 128 128 128))
    (local.set $second (v128.const i8x16 6 128 9 128 7 128 10 128 8 128 11 128 128 128 128 128))
    (local.set $rounding (i32x4.splat (i32.shl (i32.const 1) (i32.sub (local.get $bits) (i32.const 1)))))
    (local.set $end (i32.add (local.get $target) (i32.mul (local.get $outputs) (i32.const 3))))
    (loop $output
      (local.set $sum (local.get $rounding))
      (local.set $at (i32.add (local.get $source) (i32.load (local.get $starts))))
      (local.set $group (local.get $groups))
      (loop $next
        (local.set $pixels (v128.load (local.get $at)))
        ;; Pixels 0 and 1 times the weights 0 and 1, then 2 and 3.
        (local.set $sum (i32x4.add (local.get $sum)
          (i32x4.dot_i16x8_s
            (i8x16.swizzle (local.get $pixels) (local.get $first))
            (v128.load32_splat (local.get $weights)))))
        (local.set $sum (i32x4.add (local.get $sum)
          (i32x4.dot_i16x8_s
            (i8x16.swizzle (local.get $pixels) (local.get $second))
            (v128.load32_splat offset=4 (local.get $weights)))))
        (local.set $at (i32.add (local.get $at) (i32.const 12)))
        (local.set $weights (i32.add (local.get $weights) (i32.const 8)))
        (br_if $next (local.tee $group (i32.sub (local.get $group) (i32.const 1)))))
      (local.set $sum (i32x4.shr_s (local.get $sum) (local.get $bits)))
      (local.set $sum (i16x8.narrow_i32x4_s (local.get $sum) (local.get $sum)))
      ;; The fourth byte is overwritten by the next pixel.
      (v128.store32_lane 0 (local.get $target) (i8x16.narrow_i16x8_u (local.get $sum) (local.get $sum)))
      (local.set $target (i32.add (local.get $target) (i32.const 3)))
      (local.set $starts (i32.add (local.get $starts) (i32.const 4)))
      (br_if $output (i32.lt_u (local.get $target) (local.get $end)))))

  ;; One row of bytes: target[i] = Σ weights[t] * source[t, i], t in pairs, i in blocks of 16.
  ;;   source   the first row; rows are `rowBytes` apart, and a row of padding follows the last
  ;;   weights  [pairs * 2] int16
  ;;   target   [rowBytes] bytes, then padding to the end of the block
  (func (export "rows")
    (param $source i32) (param $rowBytes i32) (param $weights i32) (param $pairs i32) (param $target i32)
    (param $bits i32)
    (local $end i32) (local $at i32) (local $pair i32) (local $tap i32) (local $rounding v128) (local $weight v128)
    (local $upper v128) (local $lower v128) (local $mixed v128)
    (local $sum0 v128) (local $sum1 v128) (local $sum2 v128) (local $sum3 v128)
    (local.set $rounding (i32x4.splat (i32.shl (i32.const 1) (i32.sub (local.get $bits) (i32.const 1)))))
    (local.set $end (i32.add (local.get $target) (local.get $rowBytes)))
    (loop $block
      (local.set $sum0 (local.get $rounding))
      (local.set $sum1 (local.get $rounding))
      (local.set $sum2 (local.get $rounding))
      (local.set $sum3 (local.get $rounding))
      (local.set $at (local.get $source))
      (local.set $tap (local.get $weights))
      (local.set $pair (local.get $pairs))
      (loop $next
        (local.set $weight (v128.load32_splat (local.get $tap)))
        (local.set $upper (v128.load (local.get $at)))
        (local.set $lower (v128.load (i32.add (local.get $at) (local.get $rowBytes))))
        ;; Bytes of both rows by turns: 16-bit pairs for the two weights.
        (local.set $mixed (i8x16.shuffle 0 16 1 17 2 18 3 19 4 20 5 21 6 22 7 23 (local.get $upper) (local.get $lower)))
        (local.set $sum0 (i32x4.add (local.get $sum0)
          (i32x4.dot_i16x8_s (i16x8.extend_low_i8x16_u (local.get $mixed)) (local.get $weight))))
        (local.set $sum1 (i32x4.add (local.get $sum1)
          (i32x4.dot_i16x8_s (i16x8.extend_high_i8x16_u (local.get $mixed)) (local.get $weight))))
        (local.set $mixed
          (i8x16.shuffle 8 24 9 25 10 26 11 27 12 28 13 29 14 30 15 31 (local.get $upper) (local.get $lower)))
        (local.set $sum2 (i32x4.add (local.get $sum2)
          (i32x4.dot_i16x8_s (i16x8.extend_low_i8x16_u (local.get $mixed)) (local.get $weight))))
        (local.set $sum3 (i32x4.add (local.get $sum3)
          (i32x4.dot_i16x8_s (i16x8.extend_high_i8x16_u (local.get $mixed)) (local.get $weight))))
        (local.set $at (i32.add (local.get $at) (i32.shl (local.get $rowBytes) (i32.const 1))))
        (local.set $tap (i32.add (local.get $tap) (i32.const 4)))
        (br_if $next (local.tee $pair (i32.sub (local.get $pair) (i32.const 1)))))
      (v128.store (local.get $target)
        (i8x16.narrow_i16x8_u
          (i16x8.narrow_i32x4_s
            (i32x4.shr_s (local.get $sum0) (local.get $bits)) (i32x4.shr_s (local.get $sum1) (local.get $bits)))
          (i16x8.narrow_i32x4_s
            (i32x4.shr_s (local.get $sum2) (local.get $bits)) (i32x4.shr_s (local.get $sum3) (local.get $bits)))))
      (local.set $source (i32.add (local.get $source) (i32.const 16)))
      (local.set $target (i32.add (local.get $target) (i32.const 16)))
      (br_if $block (i32.lt_u (local.get $target) (local.get $end))))))
