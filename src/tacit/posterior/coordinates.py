"""Coordinates in which the posterior of a categorical model has one scale in every direction.

The sampler moves y in R^K and, when it is learned, eta = ln rho. With alpha = rho b,

    z = y + (1 - 1/alpha) softplus(floor - y),    ln theta = z - lse(z),    lse(z) ~ N(0, 1)

Under the Dirichlet prior, ln theta_k falls off like exp(alpha_k ln theta_k) on the left: over hundreds of units when
alpha is small. Above `floor`, the level that the data can see, y moves ln theta itself; below it, y is stretched by
1 / alpha, and the tail has unit scale whatever rho is. So rho can be learned without a funnel. The law of
lse(z) is free, since theta does not depend on it; N(0, 1) keeps the redundant direction as wide as the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tacit.arrays import Floats
from tacit.likelihood import Likelihood
from tacit.models import Categorical

FARTHEST = 8.0  # standard deviations of the prior of ln rho that are looked at
LARGEST = 1e9  # total concentration: theta is then known to five digits before any report


class Point(NamedTuple):
    """What a position stands for: theta and ln theta (P, K), with the pieces that the gradient needs."""

    theta: Floats
    log_theta: Floats
    log_sum: Floats
    alpha: Floats
    below: Floats  # softplus(floor - y)
    share: Floats  # its derivative
    slope: Floats  # dz / dy


@dataclass(frozen=True)
class Coordinates:
    """The map between positions x = (y, eta), shape (P, K) or (P, K + 1), and theta; and the target density."""

    model: Categorical
    likelihood: Likelihood
    floor: Floats  # (K,)

    @property
    def dimension(self) -> int:
        return self.model.k + self.model.learned

    def concentration(self, x: Floats) -> Floats:
        """alpha for every position, shape (P, K)."""
        base = np.array(self.model.base)
        if self.model.learned:
            alpha: Floats = np.exp(x[:, -1:]) * base
            return alpha
        return np.broadcast_to(base, (len(x), self.model.k))

    def point(self, x: Floats) -> Point:
        from scipy.special import expit

        alpha = self.concentration(x)
        y = x[:, : self.model.k]
        below = np.logaddexp(0.0, self.floor - y)
        share = expit(self.floor - y)
        z = y + (1 - 1 / alpha) * below
        top = z.max(axis=1, keepdims=True)
        log_sum = top + np.log(np.exp(z - top).sum(axis=1, keepdims=True))
        log_theta = z - log_sum
        slope = 1 - (1 - 1 / alpha) * share
        return Point(np.exp(log_theta), log_theta, log_sum, alpha, below, share, slope)

    def positions(self, log_theta: Floats, log_rho: Floats, log_sum: Floats | float = 0.0) -> Floats:
        """The positions of given draws, at given values of lse(z)."""
        x = np.zeros((len(log_theta), self.dimension))
        if self.model.learned:
            x[:, -1] = log_rho
        alpha = self.concentration(x)
        x[:, : self.model.k] = self.floor - _inverse(self.floor - log_theta - log_sum, alpha)
        return x

    def log_density(self, x: Floats) -> Floats:
        """The log posterior density of the positions, up to a constant: shape (P,)."""
        from scipy.special import gammaln

        p = self.point(x)
        total = p.alpha.sum(axis=1)
        out: Floats = (p.alpha * p.log_theta).sum(axis=1) + gammaln(total) - gammaln(p.alpha).sum(axis=1)
        out += np.log(p.slope).sum(axis=1) - p.log_sum[:, 0] ** 2 / 2
        if self.model.learned:
            away = (x[:, -1] - self.model.location) / self.model.scale
            # Far out the gamma functions cancel and leave noise, which must not look like density.
            out = np.where((np.abs(away) > FARTHEST) | (total > LARGEST), -np.inf, out - away**2 / 2)
        out += self.likelihood.value(p.theta)
        return out

    def gradient(self, x: Floats) -> Floats:
        """The derivatives of the log density, with the likelihood's part in single precision where it has one."""
        from scipy.special import digamma

        p = self.point(x)
        rough = getattr(self.likelihood, "rough_gradient", self.likelihood.gradient)
        by_theta = rough(p.theta)
        inner = (p.theta * by_theta).sum(axis=1, keepdims=True)
        total = p.alpha.sum(axis=1, keepdims=True)
        by_z = p.alpha - p.theta * (total + p.log_sum) + p.theta * (by_theta - inner)
        bend = (1 - 1 / p.alpha) * p.share * (1 - p.share) / p.slope
        out = np.empty((len(x), self.dimension))
        out[:, : self.model.k] = by_z * p.slope + bend
        if self.model.learned:
            direct = p.alpha * (p.log_theta + digamma(total) - digamma(p.alpha))
            moved = (by_z * p.below - p.share / p.slope) / p.alpha
            out[:, -1] = (direct + moved).sum(axis=1)
            out[:, -1] -= (x[:, -1] - self.model.location) / self.model.scale**2
        return out

    def precision(self, x: Floats) -> Floats:
        """A positive definite stand-in for minus the Hessian at one position (1, .): the likelihood's information
        carried to these coordinates, and the unit scale that the prior has in each of them."""
        p = self.point(x)
        theta, k = p.theta[0], self.model.k
        jacobian = np.zeros((k, self.dimension))
        by_z = np.diag(theta) - np.outer(theta, theta)
        jacobian[:, :k] = by_z * p.slope[0]
        if self.model.learned:
            jacobian[:, -1] = by_z @ (p.below[0] / p.alpha[0])
        out: Floats = jacobian.T @ self.likelihood.information(theta) @ jacobian
        out[:k, :k] += p.alpha.sum() * p.slope[0][:, None] * by_z * p.slope[0]
        out += np.eye(self.dimension)
        if self.model.learned:
            out[-1, -1] += 1 / self.model.scale**2
        return out


def _inverse(v: Floats, alpha: Floats) -> Floats:
    """The t with t + (1/alpha - 1) softplus(t) = v, by Newton steps.

    The left side is convex in t for alpha < 1 and concave for alpha > 1. From a start on the right side of the root,
    Newton's method converges without overshooting. For small alpha, t + e^t / alpha = v puts the root near
    ln(alpha (v - t)), where a start at v would come down by one unit a step only.
    """
    from scipy.special import expit

    stretch = 1 / alpha - 1
    steep = np.maximum(stretch, 1.0)
    near = np.log((np.maximum(v, 0) + np.log(steep) + 1) / steep) + 0.7
    t = np.where(alpha > 1, np.where(v > 0, v * alpha, v), np.where(stretch > 3, np.minimum(v, near), v))
    for _ in range(NEWTON_STEPS):
        excess = t + stretch * np.logaddexp(0.0, t) - v
        t = t - excess / (1 + stretch * expit(t))
    return t


NEWTON_STEPS = 20
